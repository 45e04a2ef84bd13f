"""The dialects that this project defines."""

"""What models are imported from: ONNX files, symbols and modules of the dialect."""

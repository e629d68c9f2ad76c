"""Export: a fitted estimator as an ONNX file, which predicts without Python.

The graph is written as expressions (:mod:`.graph`) of scalers, kernels and decoding, each in its
file, and compared with the library before anything is written (:mod:`.agreement`).
"""

from .onnx_file import to_onnx

__all__ = ["to_onnx"]

"""CEL, the expression language of validation rules and admission policies, with the libraries Kubernetes adds to it.

Importing this package costs nothing; the engine (19 MB) is loaded with the first expression that is compiled.
"""

from karmada.apiserver.cel.program import DYN, CompileError, EvaluationError, Program, compile, compile_reading

__all__ = ["DYN", "CompileError", "EvaluationError", "Program", "compile", "compile_reading"]

"""Random structured inputs go to our code and to a program that answers for the reference; differences are minimised.

The program is the oracle of `../shared/tools/oracle/README.md`: one JSON request per line in, one answer per line out.
Inputs come from the generator beside that README. Without an oracle the recorded answers of `../shared/golden/random`
are compared. Known and wanted differences are the excuses of the golden topics (`golden/known.py`).
Topic `kube` is apart: random
requests go to a stock kube-apiserver, which is started for that, and to our API server.
"""

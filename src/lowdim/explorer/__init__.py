"""The explorer: a page in which the model can be touched, served on this computer only.

`web/` holds its module, JavaScript that draws; `endpoints.py` and `cards.py` answer what it asks; `server.py`,
`widget.py` and the report, whose row card works offline, are the three places where it runs.
"""

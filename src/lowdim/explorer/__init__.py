"""The explorer: a page in which the model can be touched, served on this computer only.

`web/` holds its module, JavaScript written here and served as it is; `answers.py` what it asks for; `server.py`,
`widget.py` and the report are the three places where it runs.
"""

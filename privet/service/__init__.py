"""The trusted learner as a service: released models and interactive answers over HTTP.

tokens.py  limits.py  refusals.py   who may ask, how much, and what a refusal says
asked_rows.py                       the body of a request to encoded rows
served_model.py                     what is served: a released model
web.py  api_text.py                 the routes, and their description
visitor_page.py                     the page for people
supervisor.py                       the socket, the workers, and what is done when one dies
client.py                           the other side, for Python

A request sees what was released, and nothing else: no object in this room that outlives the reading
of a table holds a row. Needs the extra ``service``.
"""

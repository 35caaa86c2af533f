"""The trusted learner as a service: released models and interactive answers over HTTP.

tokens.py  limits.py  refusals.py   who may ask, how much, and what a refusal says
asked_rows.py                       the body of a request to encoded rows
served_model.py  served_answers.py  what is served: a released model, an interactive release
fit_request.py  fit_jobs.py  fit_runner.py   training on tables that are already here
web.py  guard.py  api_text.py  fit_text.py   the routes, what is around them, and their description
visitor_page.py  ledger_line.py     the page for people, and the ledger as a timeline
supervisor.py                       the socket, the workers, and what is done when one dies
client.py                           the other side, for Python

A request sees what was released, and nothing else: rows are in the memory of an interactive
release's own process (``privet.answers``), and no object of this room holds one. Needs the extra
``service``.
"""

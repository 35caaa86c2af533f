"""A released model in the form that other houses keep: each with its statement and its digest.

registry_entry.py   YAML for the public registry of deployments of differential privacy
registry_fields.py  what that registry asks for, and a checker
model_card.py       a model card: Markdown with front matter
plain_model.py      a plain scikit-learn estimator on encoded rows
onnx_model.py       the same as an ONNX graph, compared before it is written
mlflow_model.py     a folder for MLflow, which takes raw columns
"""

"""The private linear support vector classifier with scikit-learn's contract.

Least squares of the labels is one of its losses: a residual has a knee as a hinge has one.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

from privet._checks import number_between
from privet.errors import DeclarationError
from privet.ledger import Ledger
from privet.losses import HuberResidual, Loss, named_loss
from privet.mechanisms import TRAINERS
from privet.mechanisms.trainer import NoiseChoice
from privet.models.classifier import PrivateLinearClassifier
from privet.models.export import exported
from privet.models.featured import Standardize
from privet.models.regression import MOST_KNEE
from privet.privacy.budget import Budget
from privet.rows.mapped import FeatureMap

#: What ``loss=`` may say; the last one is of two classes.
LEAST_SQUARES = "least_squares"
SVMLoss = Literal["huber", "smooth_hinge", "least_squares"]


class LinearSVC(PrivateLinearClassifier):
    """Differentially private linear support vector classifier.

    Two classes by a smoothed hinge, more by the joint Huber loss with one budget for all classes.

    Parameters
    ----------
    budget : float, PureDP, ZCDP, ApproxDP or GDP, default 1.0
        What one fit may cost. A number is the epsilon of pure differential privacy.
    loss : "huber", "smooth_hinge" or "least_squares", default "huber"
        A hinge with a quadratic or a twice differentiable knee; or, for two classes, the squared
        distance of the score from -1 or 1, a line beyond ``h``: with a pure epsilon, many columns
        and rows at norm 1 (``standardize="unit"``) sometimes better than "huber", often worse.
    h : float, default 0.5
        Half-width of the knee. Wider costs a hinge less noise, and least squares more.
    mechanism : "auto", "objective", "output" or "gradient", default "auto"
        Where the noise goes: into the objective, onto the minimizer (less accurate), or onto the
        gradients of a descent, each row's clipped to a public norm. The last needs a budget that
        allows Gaussian noise, and has no intervals. "auto" is "objective" for arrays; ``fit_table``
        takes "gradient" where preparation is left to it too and Gaussian noise is large, by a
        public rule of budget, rows and columns.
    noise : "auto", "laplace", "gaussian" or "domain", default "auto"
        The one with the least effect among those that the budget and the declarations allow:
        "laplace" is spherical, "domain" has the shape of the declared domain.
    calibration : None, "exact", "wang2018" or "chaudhuri2011", default None
        None is the tightest proved rule. The others are for comparison and audits.
    regularization : float or "auto", default "auto"
        Lam of the mean objective; "auto" is a public rule that reads no data. A value below the
        proven floor is raised with a warning; see ``regularization_``.
    norm_bound : float, default 1.0
        Rows are clipped to this Euclidean norm, in training and in prediction. Declare it; it is
        never measured. A feature map or a domain brings its own.
    domain : Box, OneHot, a list of them, Domain or None, default None
        What is declared of the columns: numbers within bounds, groups of one-hot columns. Rows are
        put into it, and pure noise takes its shape, which is smaller. It brings its own norm bound.
    fit_intercept : bool, default True
        Adds a penalized constant column, so that the proof covers the intercept too.
    constant : float, default 0.5
        That column, in units of ``norm_bound``. A larger one lets the intercept move further at the
        same penalty, and makes every row longer, and so the noise. Rows at full length
        (``standardize="unit"`` or ``"whiten"``) have a constant of their own.
    center : fitted linear model, (coef, offsets) or None, default None
        A public guess that the ridge pulls to instead of to zero: last year's release, a fit to
        public rows. It costs nothing, and must not come from the private rows.
    features : feature map or None, default None
        A public map of rows with ``columns``, ``norm`` and ``__call__``, made without the rows: a
        fitted ``RandomFourierFeatures`` or ``PublicNystroem``, for example. None: the columns.
    classes : list, None or "observed", default None
        Every possible label; of two, the second is the positive one, whatever the alphabet says.
        None declares booleans, or numbers that are 0 or 1; "observed" reads them from y and thereby
        declares the observed set public.
    class_weight : dict or None, default None
        Public weights per class; the noise pays for the largest.
    standardize : "auto", None, "private", "unit" or "whiten", default "auto"
        "auto" leaves arrays as they are; ``fit_table`` takes None, "unit" or "whiten" by a public
        rule of budget, rows, columns and declared domain (``preparation``).
        "private" centers and scales the columns by means and mean squares that a few per cent of
        the same budget pay for; rows are clipped to ``norm_bound`` afterwards. "unit" brings every
        row to norm 1 and "whiten" also makes its directions alike by second moments that a fifth
        of the budget pays for: more accurate on most tables, see ``linear_rule``.
    column_bounds : (low, high), two numbers or two lists, default None
        Declared ranges of the columns for ``standardize``; values outside are clipped to them.
    public_rows : array of shape (k, d) or None, default None
        Rows that may be published, without labels, for ``standardize="whiten"``: directions are
        made alike by them, at no cost to the budget and under every kind of budget.
    ledger : Ledger or None, default None
        Where the fit is charged. Without one the guarantee covers this one fit.
    dataset : str or None, default None
        The ledger's name for the data set to charge.
    insecure_seed : int or None, default None
        For tests and studies only: the release is stamped as not private.

    Attributes
    ----------
    coef_ : array of shape (1, d) for two classes, (C, d) for more
        The released weights, in the units of the features as passed, or of the standardized
        columns; with "unit" and "whiten" the last is the constant's.
    intercept_ : array of shape (1,) or (C,)
        The released offsets; zero without ``fit_intercept``.
    classes_ : array
        The declared classes in their order; of two, scores are about the second.
    regularization_ : float
        The total regularization that was used (public).
    guarantee_ : Guarantee
        The promise: budget, neighbors, unit, mechanism, theorem, assumptions, numerics.
    center_, scale_ : array of shape (d,)
        Released centers and scales of the columns, with ``standardize="private"``.
    whitening_ : array of shape (p, p)
        The released matrix that unit rows are multiplied by, with ``standardize="whiten"``.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : array of str
        Their names, where the table had any.
    schema_ : str
        The schema's text, after ``fit_table``.
    """

    takes_domain: ClassVar[bool] = True
    mechanisms: ClassVar[tuple[str, ...]] = tuple(TRAINERS)

    def __init__(
        self,
        budget: Budget | float = 1.0,
        *,
        loss: SVMLoss = "huber",
        h: float = 0.5,
        mechanism: str = "auto",
        noise: NoiseChoice = "auto",
        calibration: str | None = None,
        regularization: float | Literal["auto"] = "auto",
        norm_bound: float = 1.0,
        domain: Any = None,
        fit_intercept: bool = True,
        constant: float = 0.5,
        center: Any = None,
        features: FeatureMap | None = None,
        classes: Any = None,
        class_weight: dict[Any, float] | None = None,
        standardize: Standardize | None = "auto",
        column_bounds: Any = None,
        public_rows: Any = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        super().__init__(
            budget,
            mechanism=mechanism,
            noise=noise,
            calibration=calibration,
            regularization=regularization,
            classes=classes,
            class_weight=class_weight,
            standardize=standardize,
            column_bounds=column_bounds,
            ledger=ledger,
            dataset=dataset,
            insecure_seed=insecure_seed,
        )
        self.norm_bound = norm_bound
        self.domain = domain
        self.fit_intercept = fit_intercept
        self.constant = constant
        self.center = center
        self.public_rows = public_rows
        self.features = features
        self.loss = loss
        self.h = h

    def _loss(self, n_classes: int) -> Loss:
        if self.loss != LEAST_SQUARES:
            return named_loss(self.loss, n_classes, self.h, self._opposite(), get_args(SVMLoss))
        if n_classes != 2 or self.class_weight is not None:
            raise DeclarationError(
                "loss='least_squares' is for two classes without class weights. Use loss='huber'."
            )
        return HuberResidual(number_between("h", self.h, 1.0 / MOST_KNEE, MOST_KNEE))

    def to_sklearn(self) -> Any:
        """A pipeline of the clipping and a ``sklearn.svm.LinearSVC``.

        It predicts what this model predicts, for every row, carries ``guarantee_`` and
        ``statement_``, and refuses to be fitted again.

        Returns
        -------
        sklearn.pipeline.Pipeline
        """
        from sklearn.svm import LinearSVC as Plain

        return exported(self, Plain())

"""The keywords of the estimators. Written by ``python/tools/parameters.py``: change the configuration in Rust, and run that."""

# ruff: noqa
from __future__ import annotations

from typing import Any, Literal

#: The key of the configuration that each keyword sets.
KEYS: dict[str, str] = {
    "model": "model.name",
    "horizon": "data.horizon",
    "first_horizon": "data.first_horizon",
    "target": "data.target",
    "known": "data.known",
    "relative": "data.relative",
    "smoothing": "data.smoothing",
    "grid": "data.grid",
    "split": "data.split",
    "stretch": "data.stretch",
    "validation": "data.validation",
    "test_share": "data.test_share",
    "stratified": "data.stratified",
    "deduplicate": "data.deduplicate",
    "folds": "data.folds",
    "fold": "data.fold",
    "scale": "prepare.scale",
    "time": "prepare.time",
    "missing": "prepare.missing",
    "layers": "model.layers",
    "spans": "model.spans",
    "groups": "model.groups",
    "order": "model.order",
    "memory": "model.memory",
    "ticks": "model.ticks",
    "random": "model.random",
    "hidden": "model.hidden",
    "structure": "model.structure",
    "block": "model.block",
    "rank": "model.rank",
    "epsilon": "model.epsilon",
    "bound": "model.bound",
    "depth": "model.depth",
    "window": "model.window",
    "transition": "model.transition",
    "stability": "model.stability",
    "log_scale": "model.log_scale",
    "init": "model.init",
    "input": "model.input",
    "forget": "model.forget",
    "norm": "model.norm",
    "skip": "model.skip",
    "readout": "model.readout",
    "dropout": "model.dropout",
    "head_width": "model.head_width",
    "head_layers": "model.head_layers",
    "members": "model.members",
    "blocks": "model.blocks",
    "embedding": "model.embedding",
    "drive": "model.drive",
    "step": "model.step",
    "first": "model.first",
    "permutations": "model.permutations",
    "matrices": "model.matrices",
    "diagonal": "model.diagonal",
    "one_hot": "model.one_hot",
    "block_activation": "model.block_activation",
    "field_width": "model.field_width",
    "field_layers": "model.field_layers",
    "activation": "model.activation",
    "last": "model.last",
    "solver": "model.solver",
    "solver_steps": "model.solver_steps",
    "states": "model.states",
    "heads": "model.heads",
    "products": "model.products",
    "convolution": "model.convolution",
    "expand": "model.expand",
    "context": "model.context",
    "real_gaps": "model.real_gaps",
    "steps": "train.steps",
    "batch": "train.batch",
    "rate": "train.rate",
    "schedule": "train.schedule",
    "floor": "train.floor",
    "warmup": "train.warmup",
    "loss": "train.loss",
    "optimizer": "train.optimizer",
    "weight_decay": "train.weight_decay",
    "average": "train.average",
    "penalty": "train.penalty",
    "class_weights": "train.class_weights",
    "threshold": "train.threshold",
    "positive": "train.positive",
    "miss_cost": "train.miss_cost",
    "short_first": "train.short_first",
    "clip": "train.clip",
    "evaluate_every": "train.evaluate_every",
    "patience": "train.patience",
    "metric": "train.metric",
    "minutes": "train.minutes",
}


class ClassifierParameters:
    """Keywords of a classifier."""

    _parameters = r"""
    Parameters
    ----------
    model : str, optional
        Which model; see the table of models. By default `reservoir` for numbers, or `slice` if a setting of training is given.
    split : Literal["files", "parts", "random", "time", "thesis", "thesis-jax-0.5", "thesis-jax-0.4"], optional
        What decides which cases are tested on: the `files`, a file of `parts`, chance (`random`), `time` (of each series the last
        observations; the default for a forecast or labels at steps of fewer than 10 series), or chance as the thesis's code draws
        it today (`thesis-jax-0.5`, or `thesis`) or drew it in 2024 (`thesis-jax-0.4`).
    validation : float, optional
        The share of cases to validate on.
    test_share : float, optional
        The share of cases to test on, if chance decides; 0 by default here.
    stratified : bool, optional
        Whether each part gets its share of each class.
    deduplicate : bool, optional
        Whether exact copies of a series are removed first.
    folds : int, optional
        Into how many parts the cases are cut, of which one is tested on (k-fold).
    fold : int, optional
        Which part is tested on, from 0 (k-fold).
    scale : Literal["standard", "min-max", "none"], optional
        How channels are scaled: `standard` (mean 0, deviation 1), `min-max` (to the range from -1 to 1) or `none`.
    time : bool, optional
        Whether time is a channel of the path.
    missing : Literal["refuse", "forward", "counts"], optional
        What happens to missing values: `refuse`, `forward` (the last value is taken), or `counts` (also, and how many were seen
        is a channel).
    layers : list[dict[str, object]], optional
        The layers of a model of one's own, one a dictionary each, in place of a name.
    spans : int, optional
        How many spans of memory there are, from a few observations to most of a series. Of reservoir.
    groups : int, optional
        How many groups of 16 responses each span has, for each of three families, where a series is predicted as a whole. Of
        reservoir.
    order : int, optional
        The order of the memory: how many numbers it keeps of a span, up to 12. Of reservoir.
    memory : str, optional
        What is remembered of a series that is predicted as a whole: `full`, a hundred kilobytes and more, as each response has
        its longest run, mean height and mean time above thresholds (the default), or `small`, a few kilobytes, for streams of
        very many series. Of reservoir.
    ticks : bool, optional
        Whether responses are also read on a clock between observations that are far apart, where a series is predicted as a
        whole; by default if gaps between observations differ. Of reservoir.
    random : int, optional
        How many random functions of memories there are, where every observation is predicted at; 600 by default. Of reservoir.
    hidden : int, optional
        The number of hidden states; 64 by default.
    structure : str, optional
        The matrices: `block` (the default), `dense`, `diagonal`, `diagonal-dense`, `dplr`, `sparse` or `walsh-hadamard`;
        `permutation-diagonal` is for `stack` alone. Of slice, stack.
    block : int, optional
        The size of blocks (4), or of the dense block behind a diagonal (16). Of slice, stack.
    rank : int, optional
        The rank of the low-rank part of `dplr`; 4 by default. Of slice, stack.
    epsilon : float, optional
        `H^(1 + epsilon)` entries of a sparse matrix; 0.5 by default. Of slice, stack.
    bound : str, optional
        The range of the diagonals of `walsh-hadamard`: `tanh` (the default) or `none`. Of slice, stack.
    depth : int, optional
        The depth of log-signatures: 1 for contractive flows, else 2, or 1 where that takes too much memory or windows hold one
        observation. Of slice, stack, ncde, nrde, log-ncde, signature.
    window : int, optional
        How many observations make up a Log-ODE window: about 64 windows a series; 1 where every observation is predicted at. Of
        slice, stack, ncde, nrde, log-ncde.
    transition : str, optional
        A step of the flow: `exp`, exact (the default), or `euler`, to first order. Of slice, stack.
    stability : str, optional
        Whether flows may expand: `free`, or `contractive`, never, which needs depth 1, `exp`, blocks and time as a channel; the
        default where these are not set otherwise, so that a stream can go on for ever. Of slice, stack.
    log_scale : float, optional
        What log-signatures are multiplied with; 1 by default. Of slice.
    init : float, optional
        The standard deviation of the first entries of the matrices, times the root of the block size; 0.25 by default. Of slice,
        stack, ncde, nrde, log-ncde.
    input : bool, optional
        Whether the path is also added to the state; yes by default. Of slice.
    forget : bool, optional
        Whether states begin with rates of forgetting, from none to one window; by default with `input`, where time is a channel
        and matrices have a diagonal. Of slice.
    norm : bool, optional
        Whether the head sees states with mean 0 and variance 1; yes by default. Of slice, ncde, nrde, log-ncde.
    skip : bool, optional
        Whether the head sees each window and its last observation beside the state; yes by default. Of slice, ncde, nrde,
        log-ncde.
    readout : str, optional
        Which states are read: their `mean` (the default) or the `last`.
    dropout : float, optional
        The share of what the last layer reads that is dropped in training.
    head_width : int, optional
        The width of the hidden layers of the head; as many as states by default. Of slice, ncde, nrde, log-ncde.
    head_layers : int, optional
        How many hidden layers the head has, 1 by default; 0 for a linear one. Of slice, ncde, nrde, log-ncde.
    members : int, optional
        How many networks vote, each trained by itself, a stack and a `slice` on the same windows and with the same matrices by
        turns: 4 by default for series of numbers that are predicted as a whole, else 1. Of stack.
    blocks : int, optional
        How many blocks there are; 2 by default.
    embedding : int, optional
        How many numbers stand for a token, before a linear layer to `hidden` where that is another number. Of stack.
    drive : str, optional
        What drives a block: `tokens`, the constant 1 and its rows (the default), or `increments` of its rows. Of stack.
    step : float, optional
        What a step is multiplied with: 1/40 by default, 1 for `increments`. Of stack.
    first : str, optional
        What the first row does: it `starts` the state (the default) or `drives` it from a learned one, as all others (the default
        of `permutation-diagonal`). Of stack.
    permutations : bool, optional
        Whether each block has permutation-diagonal states beside those of another structure, and a linear layer of both; yes by
        default for words with a label each, which are followed by some rule as often as they are summed up. Of stack.
    matrices : int, optional
        How many matrices the choices of `permutation-diagonal` are mixed from; 8 by default. Of stack.
    diagonal : str, optional
        The diagonal of `permutation-diagonal`: `real` (the default), `complex`, or `one`, choices alone. Of stack.
    one_hot : str, optional
        The choices of `permutation-diagonal`: each state is sent to one (`columns`, the default) or fetched from one (`rows`). Of
        stack.
    block_activation : str, optional
        The function of a block's mixing layer: `tanh` (the default for tokens) or `glu` (that for numbers). Of stack.
    field_width : int, optional
        The width of the hidden layers of the vector field; 64 by default. Of ncde, nrde, log-ncde.
    field_layers : int, optional
        How many hidden layers the vector field has; 2 by default. Of ncde, nrde, log-ncde.
    activation : str, optional
        What follows each of them: `silu` (`log-ncde`), `relu` (`ncde` and `nrde`, whose last one has tanh), `tanh`, `softplus`,
        `shifted-softplus` or `identity`. Of ncde, nrde, log-ncde.
    last : str, optional
        What follows the last layer of the field: `tanh`, or `linear` (`nrde`). Of ncde, nrde, log-ncde.
    solver : str, optional
        How the equation is solved: `euler`, `midpoint`, `heun` (the default), `ralston`, `bogacki-shampine` or `rk4`; not for an
        `ncde` also `dormand-prince` or `tsitouras`. Of ncde, nrde, log-ncde.
    solver_steps : int, optional
        In how many steps a window is solved; about 64 a series by default. Of ncde, nrde, log-ncde.
    states : int, optional
        States of `lru`, `s5` and of oscillators in all (64), of each number in `s4d`, `s6`, `mamba` (16), `mamba2` and `mamba3`
        (64).
    heads : int, optional
        Heads of attention, of its linear kin and of `mamba2`, `mamba3`, `slstm`, `mlstm` and `xlstm`; 4 by default, fewer where
        they do not divide the numbers.
    products : int, optional
        Factors a row of `delta-product` and `gated-delta-product`; 2 by default.
    convolution : int, optional
        How many rows the convolution of `mamba` and `mamba2` sees; 4 by default.
    expand : int, optional
        To how many times the numbers between blocks `mamba`, `mamba2` and `mamba3` widen them inside; 2 by default.
    context : int, optional
        How many rows a row of a `transformer` sees; by default as many as the longest series has, 4096 at most.
    real_gaps : bool, optional
        Whether the steps of `lru`, `s4d`, `s5`, `s6`, `mamba`, `mamba2`, `mamba3`, `linoss-im` and `gru-d` are the real gaps
        between observations; yes by default where gaps are uneven.
    steps : int, optional
        The most steps.
    batch : int, optional
        Series a step.
    rate : float, optional
        The learning rate.
    schedule : Literal["constant", "cosine", "linear"], optional
        How the rate changes: down to its floor as a `cosine` or `linear`, or `constant`.
    floor : float, optional
        The last rate; 0 by default.
    warmup : int, optional
        Steps until the rate is full, from 0.
    loss : Literal["cross-entropy", "squared", "absolute", "huber"], optional
        How far outputs are from what should come out: `cross-entropy` of classes; of numbers `squared` (the default), `absolute`
        or `huber`.
    optimizer : Literal["adam", "adamw", "sgd", "lion", "muon"], optional
        How weights follow their gradients: `adamw` (the default), `adam`, `sgd` (with momentum), `lion` or `muon`.
    weight_decay : float, optional
        The decay of weights, times the rate: 1 by default under `adamw`, 0 under `sgd`, `lion` and `muon`; `adam` has none.
    average : float, optional
        The decay of a moving average of weights, which is then what is evaluated and saved: 0.999, for example; no average by
        default.
    penalty : float, optional
        The factor of the penalty on the vector field.
    class_weights : Literal["none", "balanced"], optional
        How much a class counts: `none` for every case the same, `balanced` for every class the same.
    threshold : float | str, optional
        From which probability on a class is predicted, in place of the likeliest class: `f1` and `cost` find it on cases that are
        not learned from (left out one at a time, or of the validation part), a number is taken as it is.
    positive : str, optional
        The class that the threshold is of; the rarest by default.
    miss_cost : float, optional
        What a missed case of that class costs with `threshold=cost`, in false alarms; by default as many as there are cases of
        other classes for one of it.
    short_first : int, optional
        Steps until all cases take part, the shortest first; half of all steps by default for tokens of different lengths with a
        label each, else 0.
    clip : float, optional
        The largest norm of a gradient; 0 for no limit.
    evaluate_every : int, optional
        Steps between two evaluations of the validation part.
    patience : int, optional
        Steps without improvement after which training stops; 0 for never.
    metric : str, optional
        What an improvement is measured by: `loss`, `accuracy`, `balanced_accuracy`, `auroc`, `f1`; of numbers `mse`, `mae`, `r2`.
    minutes : float, optional
        Minutes after which training stops; 0 for no limit.
    id_column : str, optional
        Of a long table, the column with the name of a case; by default one that is called `id`, `case` or `series`.
    time_column : str, optional
        Of a long table, the column with times; by default one that is called `time`, `t` or `date`. Without one, rows are
        counted.
    group_column : str, optional
        Of a long table, the column that says which cases belong together.
    static_columns : list[str], optional
        Of a long table, columns that say one number of each case as a whole.
    channel_columns : list[str], optional
        Of a long table, the columns that are channels; by default all others.
    random_state : object, optional
        The seed of everything random: a whole number, or a generator of numpy from which one is drawn. 0 by default: results
        repeat.
    n_jobs : int, optional
        How many threads compute; all by default. Results do not depend on it.
    verbose : int, optional
        Whether what happens is printed on standard error, a line each.

    Notes
    -----
    Models:

    reservoir: fixed memories and pooled responses, a readout solved in closed form
    slice: a structured Linear NCDE over Log-ODE windows
    stack: SLiCE blocks on tokens or values
    ncde: a neural CDE along a smooth path through the observations
    nrde: a neural rough differential equation: a network onto the log-signature
    log-ncde: a neural CDE by the Log-ODE method: a network and its Lie brackets
    signature: a linear model of signature features
    lru: linear recurrent units: diagonal complex states
    s4d: diagonal state-space models of each number
    s5: a diagonal state-space model of all numbers
    s6: selective state-space models
    mamba: selective state-space models behind convolutions and gates
    mamba2: matrix-valued states that fade at one rate a head
    mamba3: matrix-valued states that fade and turn, by trapezoidal steps
    linoss-im: oscillators that rows drive, by implicit steps
    linoss-imex: oscillators that rows drive, by explicit steps
    d-linoss: damped oscillators that rows drive
    lstm: long short-term memories
    gru: gated recurrent units
    gru-d: gated recurrent units that fade with the time since each channel was seen
    slstm: LSTMs with exponential gates
    mlstm: LSTMs with matrix-valued states
    xlstm: mLSTM and sLSTM blocks by turns
    transformer: causal attention with positions in real time
    rwkv7: a memory that decays by keys and writes at rates of its own
    linear-attention: attention without soft-max, as sums under keys
    deltanet: a memory that overwrites what is stored under a key
    deltanet-negative: DeltaNet with eigenvalues from -1 to 1
    gated-deltanet: DeltaNet that forgets, with gates
    delta-product: DeltaNet with several factors a row, eigenvalues from -1 to 1
    gated-delta-product: the same that forgets
"""

    def __init__(
        self,
        *,
        model: str | None = None,
        split: Literal["files", "parts", "random", "time", "thesis", "thesis-jax-0.5", "thesis-jax-0.4"] | None = None,
        validation: float | None = None,
        test_share: float | None = None,
        stratified: bool | None = None,
        deduplicate: bool | None = None,
        folds: int | None = None,
        fold: int | None = None,
        scale: Literal["standard", "min-max", "none"] | None = None,
        time: bool | None = None,
        missing: Literal["refuse", "forward", "counts"] | None = None,
        layers: list[dict[str, Any]] | None = None,
        spans: int | None = None,
        groups: int | None = None,
        order: int | None = None,
        memory: str | None = None,
        ticks: bool | None = None,
        random: int | None = None,
        hidden: int | None = None,
        structure: str | None = None,
        block: int | None = None,
        rank: int | None = None,
        epsilon: float | None = None,
        bound: str | None = None,
        depth: int | None = None,
        window: int | None = None,
        transition: str | None = None,
        stability: str | None = None,
        log_scale: float | None = None,
        init: float | None = None,
        input: bool | None = None,
        forget: bool | None = None,
        norm: bool | None = None,
        skip: bool | None = None,
        readout: str | None = None,
        dropout: float | None = None,
        head_width: int | None = None,
        head_layers: int | None = None,
        members: int | None = None,
        blocks: int | None = None,
        embedding: int | None = None,
        drive: str | None = None,
        step: float | None = None,
        first: str | None = None,
        permutations: bool | None = None,
        matrices: int | None = None,
        diagonal: str | None = None,
        one_hot: str | None = None,
        block_activation: str | None = None,
        field_width: int | None = None,
        field_layers: int | None = None,
        activation: str | None = None,
        last: str | None = None,
        solver: str | None = None,
        solver_steps: int | None = None,
        states: int | None = None,
        heads: int | None = None,
        products: int | None = None,
        convolution: int | None = None,
        expand: int | None = None,
        context: int | None = None,
        real_gaps: bool | None = None,
        steps: int | None = None,
        batch: int | None = None,
        rate: float | None = None,
        schedule: Literal["constant", "cosine", "linear"] | None = None,
        floor: float | None = None,
        warmup: int | None = None,
        loss: Literal["cross-entropy", "squared", "absolute", "huber"] | None = None,
        optimizer: Literal["adam", "adamw", "sgd", "lion", "muon"] | None = None,
        weight_decay: float | None = None,
        average: float | None = None,
        penalty: float | None = None,
        class_weights: Literal["none", "balanced"] | None = None,
        threshold: float | str | None = None,
        positive: str | None = None,
        miss_cost: float | None = None,
        short_first: int | None = None,
        clip: float | None = None,
        evaluate_every: int | None = None,
        patience: int | None = None,
        metric: str | None = None,
        minutes: float | None = None,
        id_column: str | None = None,
        time_column: str | None = None,
        group_column: str | None = None,
        static_columns: list[str] | None = None,
        channel_columns: list[str] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.split = split
        self.validation = validation
        self.test_share = test_share
        self.stratified = stratified
        self.deduplicate = deduplicate
        self.folds = folds
        self.fold = fold
        self.scale = scale
        self.time = time
        self.missing = missing
        self.layers = layers
        self.spans = spans
        self.groups = groups
        self.order = order
        self.memory = memory
        self.ticks = ticks
        self.random = random
        self.hidden = hidden
        self.structure = structure
        self.block = block
        self.rank = rank
        self.epsilon = epsilon
        self.bound = bound
        self.depth = depth
        self.window = window
        self.transition = transition
        self.stability = stability
        self.log_scale = log_scale
        self.init = init
        self.input = input
        self.forget = forget
        self.norm = norm
        self.skip = skip
        self.readout = readout
        self.dropout = dropout
        self.head_width = head_width
        self.head_layers = head_layers
        self.members = members
        self.blocks = blocks
        self.embedding = embedding
        self.drive = drive
        self.step = step
        self.first = first
        self.permutations = permutations
        self.matrices = matrices
        self.diagonal = diagonal
        self.one_hot = one_hot
        self.block_activation = block_activation
        self.field_width = field_width
        self.field_layers = field_layers
        self.activation = activation
        self.last = last
        self.solver = solver
        self.solver_steps = solver_steps
        self.states = states
        self.heads = heads
        self.products = products
        self.convolution = convolution
        self.expand = expand
        self.context = context
        self.real_gaps = real_gaps
        self.steps = steps
        self.batch = batch
        self.rate = rate
        self.schedule = schedule
        self.floor = floor
        self.warmup = warmup
        self.loss = loss
        self.optimizer = optimizer
        self.weight_decay = weight_decay
        self.average = average
        self.penalty = penalty
        self.class_weights = class_weights
        self.threshold = threshold
        self.positive = positive
        self.miss_cost = miss_cost
        self.short_first = short_first
        self.clip = clip
        self.evaluate_every = evaluate_every
        self.patience = patience
        self.metric = metric
        self.minutes = minutes
        self.id_column = id_column
        self.time_column = time_column
        self.group_column = group_column
        self.static_columns = static_columns
        self.channel_columns = channel_columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        super().__init__()

class RegressorParameters:
    """Keywords of a regressor."""

    _parameters = r"""
    Parameters
    ----------
    model : str, optional
        Which model; see the table of models. By default `reservoir` for numbers, or `slice` if a setting of training is given.
    split : Literal["files", "parts", "random", "time", "thesis", "thesis-jax-0.5", "thesis-jax-0.4"], optional
        What decides which cases are tested on: the `files`, a file of `parts`, chance (`random`), `time` (of each series the last
        observations; the default for a forecast or labels at steps of fewer than 10 series), or chance as the thesis's code draws
        it today (`thesis-jax-0.5`, or `thesis`) or drew it in 2024 (`thesis-jax-0.4`).
    validation : float, optional
        The share of cases to validate on.
    test_share : float, optional
        The share of cases to test on, if chance decides; 0 by default here.
    deduplicate : bool, optional
        Whether exact copies of a series are removed first.
    folds : int, optional
        Into how many parts the cases are cut, of which one is tested on (k-fold).
    fold : int, optional
        Which part is tested on, from 0 (k-fold).
    scale : Literal["standard", "min-max", "none"], optional
        How channels are scaled: `standard` (mean 0, deviation 1), `min-max` (to the range from -1 to 1) or `none`.
    time : bool, optional
        Whether time is a channel of the path.
    missing : Literal["refuse", "forward", "counts"], optional
        What happens to missing values: `refuse`, `forward` (the last value is taken), or `counts` (also, and how many were seen
        is a channel).
    layers : list[dict[str, object]], optional
        The layers of a model of one's own, one a dictionary each, in place of a name.
    spans : int, optional
        How many spans of memory there are, from a few observations to most of a series. Of reservoir.
    groups : int, optional
        How many groups of 16 responses each span has, for each of three families, where a series is predicted as a whole. Of
        reservoir.
    order : int, optional
        The order of the memory: how many numbers it keeps of a span, up to 12. Of reservoir.
    memory : str, optional
        What is remembered of a series that is predicted as a whole: `full`, a hundred kilobytes and more, as each response has
        its longest run, mean height and mean time above thresholds (the default), or `small`, a few kilobytes, for streams of
        very many series. Of reservoir.
    ticks : bool, optional
        Whether responses are also read on a clock between observations that are far apart, where a series is predicted as a
        whole; by default if gaps between observations differ. Of reservoir.
    random : int, optional
        How many random functions of memories there are, where every observation is predicted at; 600 by default. Of reservoir.
    hidden : int, optional
        The number of hidden states; 64 by default.
    structure : str, optional
        The matrices: `block` (the default), `dense`, `diagonal`, `diagonal-dense`, `dplr`, `sparse` or `walsh-hadamard`;
        `permutation-diagonal` is for `stack` alone. Of slice, stack.
    block : int, optional
        The size of blocks (4), or of the dense block behind a diagonal (16). Of slice, stack.
    rank : int, optional
        The rank of the low-rank part of `dplr`; 4 by default. Of slice, stack.
    epsilon : float, optional
        `H^(1 + epsilon)` entries of a sparse matrix; 0.5 by default. Of slice, stack.
    bound : str, optional
        The range of the diagonals of `walsh-hadamard`: `tanh` (the default) or `none`. Of slice, stack.
    depth : int, optional
        The depth of log-signatures: 1 for contractive flows, else 2, or 1 where that takes too much memory or windows hold one
        observation. Of slice, stack, ncde, nrde, log-ncde, signature.
    window : int, optional
        How many observations make up a Log-ODE window: about 64 windows a series; 1 where every observation is predicted at. Of
        slice, stack, ncde, nrde, log-ncde.
    transition : str, optional
        A step of the flow: `exp`, exact (the default), or `euler`, to first order. Of slice, stack.
    stability : str, optional
        Whether flows may expand: `free`, or `contractive`, never, which needs depth 1, `exp`, blocks and time as a channel; the
        default where these are not set otherwise, so that a stream can go on for ever. Of slice, stack.
    log_scale : float, optional
        What log-signatures are multiplied with; 1 by default. Of slice.
    init : float, optional
        The standard deviation of the first entries of the matrices, times the root of the block size; 0.25 by default. Of slice,
        stack, ncde, nrde, log-ncde.
    input : bool, optional
        Whether the path is also added to the state; yes by default. Of slice.
    forget : bool, optional
        Whether states begin with rates of forgetting, from none to one window; by default with `input`, where time is a channel
        and matrices have a diagonal. Of slice.
    norm : bool, optional
        Whether the head sees states with mean 0 and variance 1; yes by default. Of slice, ncde, nrde, log-ncde.
    skip : bool, optional
        Whether the head sees each window and its last observation beside the state; yes by default. Of slice, ncde, nrde,
        log-ncde.
    readout : str, optional
        Which states are read: their `mean` (the default) or the `last`.
    dropout : float, optional
        The share of what the last layer reads that is dropped in training.
    head_width : int, optional
        The width of the hidden layers of the head; as many as states by default. Of slice, ncde, nrde, log-ncde.
    head_layers : int, optional
        How many hidden layers the head has, 1 by default; 0 for a linear one. Of slice, ncde, nrde, log-ncde.
    members : int, optional
        How many networks vote, each trained by itself, a stack and a `slice` on the same windows and with the same matrices by
        turns: 4 by default for series of numbers that are predicted as a whole, else 1. Of stack.
    blocks : int, optional
        How many blocks there are; 2 by default.
    embedding : int, optional
        How many numbers stand for a token, before a linear layer to `hidden` where that is another number. Of stack.
    drive : str, optional
        What drives a block: `tokens`, the constant 1 and its rows (the default), or `increments` of its rows. Of stack.
    step : float, optional
        What a step is multiplied with: 1/40 by default, 1 for `increments`. Of stack.
    first : str, optional
        What the first row does: it `starts` the state (the default) or `drives` it from a learned one, as all others (the default
        of `permutation-diagonal`). Of stack.
    permutations : bool, optional
        Whether each block has permutation-diagonal states beside those of another structure, and a linear layer of both; yes by
        default for words with a label each, which are followed by some rule as often as they are summed up. Of stack.
    matrices : int, optional
        How many matrices the choices of `permutation-diagonal` are mixed from; 8 by default. Of stack.
    diagonal : str, optional
        The diagonal of `permutation-diagonal`: `real` (the default), `complex`, or `one`, choices alone. Of stack.
    one_hot : str, optional
        The choices of `permutation-diagonal`: each state is sent to one (`columns`, the default) or fetched from one (`rows`). Of
        stack.
    block_activation : str, optional
        The function of a block's mixing layer: `tanh` (the default for tokens) or `glu` (that for numbers). Of stack.
    field_width : int, optional
        The width of the hidden layers of the vector field; 64 by default. Of ncde, nrde, log-ncde.
    field_layers : int, optional
        How many hidden layers the vector field has; 2 by default. Of ncde, nrde, log-ncde.
    activation : str, optional
        What follows each of them: `silu` (`log-ncde`), `relu` (`ncde` and `nrde`, whose last one has tanh), `tanh`, `softplus`,
        `shifted-softplus` or `identity`. Of ncde, nrde, log-ncde.
    last : str, optional
        What follows the last layer of the field: `tanh`, or `linear` (`nrde`). Of ncde, nrde, log-ncde.
    solver : str, optional
        How the equation is solved: `euler`, `midpoint`, `heun` (the default), `ralston`, `bogacki-shampine` or `rk4`; not for an
        `ncde` also `dormand-prince` or `tsitouras`. Of ncde, nrde, log-ncde.
    solver_steps : int, optional
        In how many steps a window is solved; about 64 a series by default. Of ncde, nrde, log-ncde.
    states : int, optional
        States of `lru`, `s5` and of oscillators in all (64), of each number in `s4d`, `s6`, `mamba` (16), `mamba2` and `mamba3`
        (64).
    heads : int, optional
        Heads of attention, of its linear kin and of `mamba2`, `mamba3`, `slstm`, `mlstm` and `xlstm`; 4 by default, fewer where
        they do not divide the numbers.
    products : int, optional
        Factors a row of `delta-product` and `gated-delta-product`; 2 by default.
    convolution : int, optional
        How many rows the convolution of `mamba` and `mamba2` sees; 4 by default.
    expand : int, optional
        To how many times the numbers between blocks `mamba`, `mamba2` and `mamba3` widen them inside; 2 by default.
    context : int, optional
        How many rows a row of a `transformer` sees; by default as many as the longest series has, 4096 at most.
    real_gaps : bool, optional
        Whether the steps of `lru`, `s4d`, `s5`, `s6`, `mamba`, `mamba2`, `mamba3`, `linoss-im` and `gru-d` are the real gaps
        between observations; yes by default where gaps are uneven.
    steps : int, optional
        The most steps.
    batch : int, optional
        Series a step.
    rate : float, optional
        The learning rate.
    schedule : Literal["constant", "cosine", "linear"], optional
        How the rate changes: down to its floor as a `cosine` or `linear`, or `constant`.
    floor : float, optional
        The last rate; 0 by default.
    warmup : int, optional
        Steps until the rate is full, from 0.
    loss : Literal["cross-entropy", "squared", "absolute", "huber"], optional
        How far outputs are from what should come out: `cross-entropy` of classes; of numbers `squared` (the default), `absolute`
        or `huber`.
    optimizer : Literal["adam", "adamw", "sgd", "lion", "muon"], optional
        How weights follow their gradients: `adamw` (the default), `adam`, `sgd` (with momentum), `lion` or `muon`.
    weight_decay : float, optional
        The decay of weights, times the rate: 1 by default under `adamw`, 0 under `sgd`, `lion` and `muon`; `adam` has none.
    average : float, optional
        The decay of a moving average of weights, which is then what is evaluated and saved: 0.999, for example; no average by
        default.
    penalty : float, optional
        The factor of the penalty on the vector field.
    short_first : int, optional
        Steps until all cases take part, the shortest first; half of all steps by default for tokens of different lengths with a
        label each, else 0.
    clip : float, optional
        The largest norm of a gradient; 0 for no limit.
    evaluate_every : int, optional
        Steps between two evaluations of the validation part.
    patience : int, optional
        Steps without improvement after which training stops; 0 for never.
    metric : str, optional
        What an improvement is measured by: `loss`, `accuracy`, `balanced_accuracy`, `auroc`, `f1`; of numbers `mse`, `mae`, `r2`.
    minutes : float, optional
        Minutes after which training stops; 0 for no limit.
    id_column : str, optional
        Of a long table, the column with the name of a case; by default one that is called `id`, `case` or `series`.
    time_column : str, optional
        Of a long table, the column with times; by default one that is called `time`, `t` or `date`. Without one, rows are
        counted.
    group_column : str, optional
        Of a long table, the column that says which cases belong together.
    static_columns : list[str], optional
        Of a long table, columns that say one number of each case as a whole.
    channel_columns : list[str], optional
        Of a long table, the columns that are channels; by default all others.
    random_state : object, optional
        The seed of everything random: a whole number, or a generator of numpy from which one is drawn. 0 by default: results
        repeat.
    n_jobs : int, optional
        How many threads compute; all by default. Results do not depend on it.
    verbose : int, optional
        Whether what happens is printed on standard error, a line each.

    Notes
    -----
    Models:

    reservoir: fixed memories and pooled responses, a readout solved in closed form
    slice: a structured Linear NCDE over Log-ODE windows
    stack: SLiCE blocks on tokens or values
    ncde: a neural CDE along a smooth path through the observations
    nrde: a neural rough differential equation: a network onto the log-signature
    log-ncde: a neural CDE by the Log-ODE method: a network and its Lie brackets
    signature: a linear model of signature features
    lru: linear recurrent units: diagonal complex states
    s4d: diagonal state-space models of each number
    s5: a diagonal state-space model of all numbers
    s6: selective state-space models
    mamba: selective state-space models behind convolutions and gates
    mamba2: matrix-valued states that fade at one rate a head
    mamba3: matrix-valued states that fade and turn, by trapezoidal steps
    linoss-im: oscillators that rows drive, by implicit steps
    linoss-imex: oscillators that rows drive, by explicit steps
    d-linoss: damped oscillators that rows drive
    lstm: long short-term memories
    gru: gated recurrent units
    gru-d: gated recurrent units that fade with the time since each channel was seen
    slstm: LSTMs with exponential gates
    mlstm: LSTMs with matrix-valued states
    xlstm: mLSTM and sLSTM blocks by turns
    transformer: causal attention with positions in real time
    rwkv7: a memory that decays by keys and writes at rates of its own
    linear-attention: attention without soft-max, as sums under keys
    deltanet: a memory that overwrites what is stored under a key
    deltanet-negative: DeltaNet with eigenvalues from -1 to 1
    gated-deltanet: DeltaNet that forgets, with gates
    delta-product: DeltaNet with several factors a row, eigenvalues from -1 to 1
    gated-delta-product: the same that forgets
"""

    def __init__(
        self,
        *,
        model: str | None = None,
        split: Literal["files", "parts", "random", "time", "thesis", "thesis-jax-0.5", "thesis-jax-0.4"] | None = None,
        validation: float | None = None,
        test_share: float | None = None,
        deduplicate: bool | None = None,
        folds: int | None = None,
        fold: int | None = None,
        scale: Literal["standard", "min-max", "none"] | None = None,
        time: bool | None = None,
        missing: Literal["refuse", "forward", "counts"] | None = None,
        layers: list[dict[str, Any]] | None = None,
        spans: int | None = None,
        groups: int | None = None,
        order: int | None = None,
        memory: str | None = None,
        ticks: bool | None = None,
        random: int | None = None,
        hidden: int | None = None,
        structure: str | None = None,
        block: int | None = None,
        rank: int | None = None,
        epsilon: float | None = None,
        bound: str | None = None,
        depth: int | None = None,
        window: int | None = None,
        transition: str | None = None,
        stability: str | None = None,
        log_scale: float | None = None,
        init: float | None = None,
        input: bool | None = None,
        forget: bool | None = None,
        norm: bool | None = None,
        skip: bool | None = None,
        readout: str | None = None,
        dropout: float | None = None,
        head_width: int | None = None,
        head_layers: int | None = None,
        members: int | None = None,
        blocks: int | None = None,
        embedding: int | None = None,
        drive: str | None = None,
        step: float | None = None,
        first: str | None = None,
        permutations: bool | None = None,
        matrices: int | None = None,
        diagonal: str | None = None,
        one_hot: str | None = None,
        block_activation: str | None = None,
        field_width: int | None = None,
        field_layers: int | None = None,
        activation: str | None = None,
        last: str | None = None,
        solver: str | None = None,
        solver_steps: int | None = None,
        states: int | None = None,
        heads: int | None = None,
        products: int | None = None,
        convolution: int | None = None,
        expand: int | None = None,
        context: int | None = None,
        real_gaps: bool | None = None,
        steps: int | None = None,
        batch: int | None = None,
        rate: float | None = None,
        schedule: Literal["constant", "cosine", "linear"] | None = None,
        floor: float | None = None,
        warmup: int | None = None,
        loss: Literal["cross-entropy", "squared", "absolute", "huber"] | None = None,
        optimizer: Literal["adam", "adamw", "sgd", "lion", "muon"] | None = None,
        weight_decay: float | None = None,
        average: float | None = None,
        penalty: float | None = None,
        short_first: int | None = None,
        clip: float | None = None,
        evaluate_every: int | None = None,
        patience: int | None = None,
        metric: str | None = None,
        minutes: float | None = None,
        id_column: str | None = None,
        time_column: str | None = None,
        group_column: str | None = None,
        static_columns: list[str] | None = None,
        channel_columns: list[str] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.split = split
        self.validation = validation
        self.test_share = test_share
        self.deduplicate = deduplicate
        self.folds = folds
        self.fold = fold
        self.scale = scale
        self.time = time
        self.missing = missing
        self.layers = layers
        self.spans = spans
        self.groups = groups
        self.order = order
        self.memory = memory
        self.ticks = ticks
        self.random = random
        self.hidden = hidden
        self.structure = structure
        self.block = block
        self.rank = rank
        self.epsilon = epsilon
        self.bound = bound
        self.depth = depth
        self.window = window
        self.transition = transition
        self.stability = stability
        self.log_scale = log_scale
        self.init = init
        self.input = input
        self.forget = forget
        self.norm = norm
        self.skip = skip
        self.readout = readout
        self.dropout = dropout
        self.head_width = head_width
        self.head_layers = head_layers
        self.members = members
        self.blocks = blocks
        self.embedding = embedding
        self.drive = drive
        self.step = step
        self.first = first
        self.permutations = permutations
        self.matrices = matrices
        self.diagonal = diagonal
        self.one_hot = one_hot
        self.block_activation = block_activation
        self.field_width = field_width
        self.field_layers = field_layers
        self.activation = activation
        self.last = last
        self.solver = solver
        self.solver_steps = solver_steps
        self.states = states
        self.heads = heads
        self.products = products
        self.convolution = convolution
        self.expand = expand
        self.context = context
        self.real_gaps = real_gaps
        self.steps = steps
        self.batch = batch
        self.rate = rate
        self.schedule = schedule
        self.floor = floor
        self.warmup = warmup
        self.loss = loss
        self.optimizer = optimizer
        self.weight_decay = weight_decay
        self.average = average
        self.penalty = penalty
        self.short_first = short_first
        self.clip = clip
        self.evaluate_every = evaluate_every
        self.patience = patience
        self.metric = metric
        self.minutes = minutes
        self.id_column = id_column
        self.time_column = time_column
        self.group_column = group_column
        self.static_columns = static_columns
        self.channel_columns = channel_columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        super().__init__()

class ForecasterParameters:
    """Keywords of a forecaster."""

    _parameters = r"""
    Parameters
    ----------
    model : str, optional
        Which model; see the table of models. By default `reservoir` for numbers, or `slice` if a setting of training is given.
    horizon : int, optional
        How many observations ahead a forecast looks: the largest horizon.
    first_horizon : int, optional
        The smallest horizon; 1 by default, so that one model forecasts all from the next observation on.
    target : list[str], optional
        The channels that a forecast is of; by default all that are numbers, and are not known ahead.
    known : list[str], optional
        Channels whose later values are known when a forecast is made: holidays, prices.
    relative : bool, optional
        Whether a forecast is of differences to the last known values, so that it follows a level or a trend; yes by default for
        models that are trained step by step.
    smoothing : bool, optional
        Whether what a model forecasts is added to exponential smoothing of each series; yes by default for a `reservoir`.
    grid : bool, optional
        Whether observations lie on a grid of time with some left out, so that horizons count steps of time and not observations;
        by default if they do.
    split : Literal["files", "parts", "random", "time", "thesis", "thesis-jax-0.5", "thesis-jax-0.4"], optional
        What decides which cases are tested on: the `files`, a file of `parts`, chance (`random`), `time` (of each series the last
        observations; the default for a forecast or labels at steps of fewer than 10 series), or chance as the thesis's code draws
        it today (`thesis-jax-0.5`, or `thesis`) or drew it in 2024 (`thesis-jax-0.4`).
    stretch : int, optional
        How many observations of a series that is split by time are looked at together: what a step of training sees at most, half
        of it to warm up; 8 times the horizon or the period, from 256 to 2048.
    validation : float, optional
        The share of cases to validate on.
    test_share : float, optional
        The share of cases to test on, if chance decides; 0 by default here.
    deduplicate : bool, optional
        Whether exact copies of a series are removed first.
    folds : int, optional
        Into how many parts the cases are cut, of which one is tested on (k-fold).
    fold : int, optional
        Which part is tested on, from 0 (k-fold).
    scale : Literal["standard", "min-max", "none"], optional
        How channels are scaled: `standard` (mean 0, deviation 1), `min-max` (to the range from -1 to 1) or `none`.
    time : bool, optional
        Whether time is a channel of the path.
    missing : Literal["refuse", "forward", "counts"], optional
        What happens to missing values: `refuse`, `forward` (the last value is taken), or `counts` (also, and how many were seen
        is a channel).
    layers : list[dict[str, object]], optional
        The layers of a model of one's own, one a dictionary each, in place of a name.
    spans : int, optional
        How many spans of memory there are, from a few observations to most of a series. Of reservoir.
    groups : int, optional
        How many groups of 16 responses each span has, for each of three families, where a series is predicted as a whole. Of
        reservoir.
    order : int, optional
        The order of the memory: how many numbers it keeps of a span, up to 12. Of reservoir.
    memory : str, optional
        What is remembered of a series that is predicted as a whole: `full`, a hundred kilobytes and more, as each response has
        its longest run, mean height and mean time above thresholds (the default), or `small`, a few kilobytes, for streams of
        very many series. Of reservoir.
    ticks : bool, optional
        Whether responses are also read on a clock between observations that are far apart, where a series is predicted as a
        whole; by default if gaps between observations differ. Of reservoir.
    random : int, optional
        How many random functions of memories there are, where every observation is predicted at; 600 by default. Of reservoir.
    hidden : int, optional
        The number of hidden states; 64 by default.
    structure : str, optional
        The matrices: `block` (the default), `dense`, `diagonal`, `diagonal-dense`, `dplr`, `sparse` or `walsh-hadamard`;
        `permutation-diagonal` is for `stack` alone. Of slice, stack.
    block : int, optional
        The size of blocks (4), or of the dense block behind a diagonal (16). Of slice, stack.
    rank : int, optional
        The rank of the low-rank part of `dplr`; 4 by default. Of slice, stack.
    epsilon : float, optional
        `H^(1 + epsilon)` entries of a sparse matrix; 0.5 by default. Of slice, stack.
    bound : str, optional
        The range of the diagonals of `walsh-hadamard`: `tanh` (the default) or `none`. Of slice, stack.
    depth : int, optional
        The depth of log-signatures: 1 for contractive flows, else 2, or 1 where that takes too much memory or windows hold one
        observation. Of slice, stack, ncde, nrde, log-ncde, signature.
    window : int, optional
        How many observations make up a Log-ODE window: about 64 windows a series; 1 where every observation is predicted at. Of
        slice, stack, ncde, nrde, log-ncde.
    transition : str, optional
        A step of the flow: `exp`, exact (the default), or `euler`, to first order. Of slice, stack.
    stability : str, optional
        Whether flows may expand: `free`, or `contractive`, never, which needs depth 1, `exp`, blocks and time as a channel; the
        default where these are not set otherwise, so that a stream can go on for ever. Of slice, stack.
    log_scale : float, optional
        What log-signatures are multiplied with; 1 by default. Of slice.
    init : float, optional
        The standard deviation of the first entries of the matrices, times the root of the block size; 0.25 by default. Of slice,
        stack, ncde, nrde, log-ncde.
    input : bool, optional
        Whether the path is also added to the state; yes by default. Of slice.
    forget : bool, optional
        Whether states begin with rates of forgetting, from none to one window; by default with `input`, where time is a channel
        and matrices have a diagonal. Of slice.
    norm : bool, optional
        Whether the head sees states with mean 0 and variance 1; yes by default. Of slice, ncde, nrde, log-ncde.
    skip : bool, optional
        Whether the head sees each window and its last observation beside the state; yes by default. Of slice, ncde, nrde,
        log-ncde.
    readout : str, optional
        Which states are read: their `mean` (the default) or the `last`.
    dropout : float, optional
        The share of what the last layer reads that is dropped in training.
    head_width : int, optional
        The width of the hidden layers of the head; as many as states by default. Of slice, ncde, nrde, log-ncde.
    head_layers : int, optional
        How many hidden layers the head has, 1 by default; 0 for a linear one. Of slice, ncde, nrde, log-ncde.
    members : int, optional
        How many networks vote, each trained by itself, a stack and a `slice` on the same windows and with the same matrices by
        turns: 4 by default for series of numbers that are predicted as a whole, else 1. Of stack.
    blocks : int, optional
        How many blocks there are; 2 by default.
    embedding : int, optional
        How many numbers stand for a token, before a linear layer to `hidden` where that is another number. Of stack.
    drive : str, optional
        What drives a block: `tokens`, the constant 1 and its rows (the default), or `increments` of its rows. Of stack.
    step : float, optional
        What a step is multiplied with: 1/40 by default, 1 for `increments`. Of stack.
    first : str, optional
        What the first row does: it `starts` the state (the default) or `drives` it from a learned one, as all others (the default
        of `permutation-diagonal`). Of stack.
    permutations : bool, optional
        Whether each block has permutation-diagonal states beside those of another structure, and a linear layer of both; yes by
        default for words with a label each, which are followed by some rule as often as they are summed up. Of stack.
    matrices : int, optional
        How many matrices the choices of `permutation-diagonal` are mixed from; 8 by default. Of stack.
    diagonal : str, optional
        The diagonal of `permutation-diagonal`: `real` (the default), `complex`, or `one`, choices alone. Of stack.
    one_hot : str, optional
        The choices of `permutation-diagonal`: each state is sent to one (`columns`, the default) or fetched from one (`rows`). Of
        stack.
    block_activation : str, optional
        The function of a block's mixing layer: `tanh` (the default for tokens) or `glu` (that for numbers). Of stack.
    field_width : int, optional
        The width of the hidden layers of the vector field; 64 by default. Of ncde, nrde, log-ncde.
    field_layers : int, optional
        How many hidden layers the vector field has; 2 by default. Of ncde, nrde, log-ncde.
    activation : str, optional
        What follows each of them: `silu` (`log-ncde`), `relu` (`ncde` and `nrde`, whose last one has tanh), `tanh`, `softplus`,
        `shifted-softplus` or `identity`. Of ncde, nrde, log-ncde.
    last : str, optional
        What follows the last layer of the field: `tanh`, or `linear` (`nrde`). Of ncde, nrde, log-ncde.
    solver : str, optional
        How the equation is solved: `euler`, `midpoint`, `heun` (the default), `ralston`, `bogacki-shampine` or `rk4`; not for an
        `ncde` also `dormand-prince` or `tsitouras`. Of ncde, nrde, log-ncde.
    solver_steps : int, optional
        In how many steps a window is solved; about 64 a series by default. Of ncde, nrde, log-ncde.
    states : int, optional
        States of `lru`, `s5` and of oscillators in all (64), of each number in `s4d`, `s6`, `mamba` (16), `mamba2` and `mamba3`
        (64).
    heads : int, optional
        Heads of attention, of its linear kin and of `mamba2`, `mamba3`, `slstm`, `mlstm` and `xlstm`; 4 by default, fewer where
        they do not divide the numbers.
    products : int, optional
        Factors a row of `delta-product` and `gated-delta-product`; 2 by default.
    convolution : int, optional
        How many rows the convolution of `mamba` and `mamba2` sees; 4 by default.
    expand : int, optional
        To how many times the numbers between blocks `mamba`, `mamba2` and `mamba3` widen them inside; 2 by default.
    context : int, optional
        How many rows a row of a `transformer` sees; by default as many as the longest series has, 4096 at most.
    real_gaps : bool, optional
        Whether the steps of `lru`, `s4d`, `s5`, `s6`, `mamba`, `mamba2`, `mamba3`, `linoss-im` and `gru-d` are the real gaps
        between observations; yes by default where gaps are uneven.
    steps : int, optional
        The most steps.
    batch : int, optional
        Series a step.
    rate : float, optional
        The learning rate.
    schedule : Literal["constant", "cosine", "linear"], optional
        How the rate changes: down to its floor as a `cosine` or `linear`, or `constant`.
    floor : float, optional
        The last rate; 0 by default.
    warmup : int, optional
        Steps until the rate is full, from 0.
    loss : Literal["cross-entropy", "squared", "absolute", "huber"], optional
        How far outputs are from what should come out: `cross-entropy` of classes; of numbers `squared` (the default), `absolute`
        or `huber`.
    optimizer : Literal["adam", "adamw", "sgd", "lion", "muon"], optional
        How weights follow their gradients: `adamw` (the default), `adam`, `sgd` (with momentum), `lion` or `muon`.
    weight_decay : float, optional
        The decay of weights, times the rate: 1 by default under `adamw`, 0 under `sgd`, `lion` and `muon`; `adam` has none.
    average : float, optional
        The decay of a moving average of weights, which is then what is evaluated and saved: 0.999, for example; no average by
        default.
    penalty : float, optional
        The factor of the penalty on the vector field.
    short_first : int, optional
        Steps until all cases take part, the shortest first; half of all steps by default for tokens of different lengths with a
        label each, else 0.
    clip : float, optional
        The largest norm of a gradient; 0 for no limit.
    evaluate_every : int, optional
        Steps between two evaluations of the validation part.
    patience : int, optional
        Steps without improvement after which training stops; 0 for never.
    metric : str, optional
        What an improvement is measured by: `loss`, `accuracy`, `balanced_accuracy`, `auroc`, `f1`; of numbers `mse`, `mae`, `r2`.
    minutes : float, optional
        Minutes after which training stops; 0 for no limit.
    id_column : str, optional
        Of a long table, the column with the name of a case; by default one that is called `id`, `case` or `series`.
    time_column : str, optional
        Of a long table, the column with times; by default one that is called `time`, `t` or `date`. Without one, rows are
        counted.
    group_column : str, optional
        Of a long table, the column that says which cases belong together.
    static_columns : list[str], optional
        Of a long table, columns that say one number of each case as a whole.
    channel_columns : list[str], optional
        Of a long table, the columns that are channels; by default all others.
    random_state : object, optional
        The seed of everything random: a whole number, or a generator of numpy from which one is drawn. 0 by default: results
        repeat.
    n_jobs : int, optional
        How many threads compute; all by default. Results do not depend on it.
    verbose : int, optional
        Whether what happens is printed on standard error, a line each.

    Notes
    -----
    Models:

    reservoir: fixed memories and pooled responses, a readout solved in closed form
    slice: a structured Linear NCDE over Log-ODE windows
    stack: SLiCE blocks on tokens or values
    ncde: a neural CDE along a smooth path through the observations
    nrde: a neural rough differential equation: a network onto the log-signature
    log-ncde: a neural CDE by the Log-ODE method: a network and its Lie brackets
    signature: a linear model of signature features
    lru: linear recurrent units: diagonal complex states
    s4d: diagonal state-space models of each number
    s5: a diagonal state-space model of all numbers
    s6: selective state-space models
    mamba: selective state-space models behind convolutions and gates
    mamba2: matrix-valued states that fade at one rate a head
    mamba3: matrix-valued states that fade and turn, by trapezoidal steps
    linoss-im: oscillators that rows drive, by implicit steps
    linoss-imex: oscillators that rows drive, by explicit steps
    d-linoss: damped oscillators that rows drive
    lstm: long short-term memories
    gru: gated recurrent units
    gru-d: gated recurrent units that fade with the time since each channel was seen
    slstm: LSTMs with exponential gates
    mlstm: LSTMs with matrix-valued states
    xlstm: mLSTM and sLSTM blocks by turns
    transformer: causal attention with positions in real time
    rwkv7: a memory that decays by keys and writes at rates of its own
    linear-attention: attention without soft-max, as sums under keys
    deltanet: a memory that overwrites what is stored under a key
    deltanet-negative: DeltaNet with eigenvalues from -1 to 1
    gated-deltanet: DeltaNet that forgets, with gates
    delta-product: DeltaNet with several factors a row, eigenvalues from -1 to 1
    gated-delta-product: the same that forgets
"""

    def __init__(
        self,
        *,
        model: str | None = None,
        horizon: int | None = None,
        first_horizon: int | None = None,
        target: list[str] | None = None,
        known: list[str] | None = None,
        relative: bool | None = None,
        smoothing: bool | None = None,
        grid: bool | None = None,
        split: Literal["files", "parts", "random", "time", "thesis", "thesis-jax-0.5", "thesis-jax-0.4"] | None = None,
        stretch: int | None = None,
        validation: float | None = None,
        test_share: float | None = None,
        deduplicate: bool | None = None,
        folds: int | None = None,
        fold: int | None = None,
        scale: Literal["standard", "min-max", "none"] | None = None,
        time: bool | None = None,
        missing: Literal["refuse", "forward", "counts"] | None = None,
        layers: list[dict[str, Any]] | None = None,
        spans: int | None = None,
        groups: int | None = None,
        order: int | None = None,
        memory: str | None = None,
        ticks: bool | None = None,
        random: int | None = None,
        hidden: int | None = None,
        structure: str | None = None,
        block: int | None = None,
        rank: int | None = None,
        epsilon: float | None = None,
        bound: str | None = None,
        depth: int | None = None,
        window: int | None = None,
        transition: str | None = None,
        stability: str | None = None,
        log_scale: float | None = None,
        init: float | None = None,
        input: bool | None = None,
        forget: bool | None = None,
        norm: bool | None = None,
        skip: bool | None = None,
        readout: str | None = None,
        dropout: float | None = None,
        head_width: int | None = None,
        head_layers: int | None = None,
        members: int | None = None,
        blocks: int | None = None,
        embedding: int | None = None,
        drive: str | None = None,
        step: float | None = None,
        first: str | None = None,
        permutations: bool | None = None,
        matrices: int | None = None,
        diagonal: str | None = None,
        one_hot: str | None = None,
        block_activation: str | None = None,
        field_width: int | None = None,
        field_layers: int | None = None,
        activation: str | None = None,
        last: str | None = None,
        solver: str | None = None,
        solver_steps: int | None = None,
        states: int | None = None,
        heads: int | None = None,
        products: int | None = None,
        convolution: int | None = None,
        expand: int | None = None,
        context: int | None = None,
        real_gaps: bool | None = None,
        steps: int | None = None,
        batch: int | None = None,
        rate: float | None = None,
        schedule: Literal["constant", "cosine", "linear"] | None = None,
        floor: float | None = None,
        warmup: int | None = None,
        loss: Literal["cross-entropy", "squared", "absolute", "huber"] | None = None,
        optimizer: Literal["adam", "adamw", "sgd", "lion", "muon"] | None = None,
        weight_decay: float | None = None,
        average: float | None = None,
        penalty: float | None = None,
        short_first: int | None = None,
        clip: float | None = None,
        evaluate_every: int | None = None,
        patience: int | None = None,
        metric: str | None = None,
        minutes: float | None = None,
        id_column: str | None = None,
        time_column: str | None = None,
        group_column: str | None = None,
        static_columns: list[str] | None = None,
        channel_columns: list[str] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.horizon = horizon
        self.first_horizon = first_horizon
        self.target = target
        self.known = known
        self.relative = relative
        self.smoothing = smoothing
        self.grid = grid
        self.split = split
        self.stretch = stretch
        self.validation = validation
        self.test_share = test_share
        self.deduplicate = deduplicate
        self.folds = folds
        self.fold = fold
        self.scale = scale
        self.time = time
        self.missing = missing
        self.layers = layers
        self.spans = spans
        self.groups = groups
        self.order = order
        self.memory = memory
        self.ticks = ticks
        self.random = random
        self.hidden = hidden
        self.structure = structure
        self.block = block
        self.rank = rank
        self.epsilon = epsilon
        self.bound = bound
        self.depth = depth
        self.window = window
        self.transition = transition
        self.stability = stability
        self.log_scale = log_scale
        self.init = init
        self.input = input
        self.forget = forget
        self.norm = norm
        self.skip = skip
        self.readout = readout
        self.dropout = dropout
        self.head_width = head_width
        self.head_layers = head_layers
        self.members = members
        self.blocks = blocks
        self.embedding = embedding
        self.drive = drive
        self.step = step
        self.first = first
        self.permutations = permutations
        self.matrices = matrices
        self.diagonal = diagonal
        self.one_hot = one_hot
        self.block_activation = block_activation
        self.field_width = field_width
        self.field_layers = field_layers
        self.activation = activation
        self.last = last
        self.solver = solver
        self.solver_steps = solver_steps
        self.states = states
        self.heads = heads
        self.products = products
        self.convolution = convolution
        self.expand = expand
        self.context = context
        self.real_gaps = real_gaps
        self.steps = steps
        self.batch = batch
        self.rate = rate
        self.schedule = schedule
        self.floor = floor
        self.warmup = warmup
        self.loss = loss
        self.optimizer = optimizer
        self.weight_decay = weight_decay
        self.average = average
        self.penalty = penalty
        self.short_first = short_first
        self.clip = clip
        self.evaluate_every = evaluate_every
        self.patience = patience
        self.metric = metric
        self.minutes = minutes
        self.id_column = id_column
        self.time_column = time_column
        self.group_column = group_column
        self.static_columns = static_columns
        self.channel_columns = channel_columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        super().__init__()

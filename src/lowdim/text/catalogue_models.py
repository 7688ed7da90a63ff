"""Messages about options, fits and new rows."""

from __future__ import annotations

from lowdim.text.errors import (
    FitError,
    ModelWarning,
    OptionError,
    TableError,
    TableTypeError,
    TableWarning,
    UnknownOptionError,
    VerbError,
)
from lowdim.text.messages import Entry

MODEL_MESSAGES: dict[str, Entry] = {
    # options
    "LD200": Entry(
        OptionError,
        "n_components={n_components} is not possible: at most {most}",
        "{why}",
        "choose n_components (--dims) between 0 and {most}",
    ),
    "LD213": Entry(
        OptionError,
        "n_components={n_components} is not possible where a table has gaps",
        "all directions together reproduce every seen cell and say nothing about the gaps",
        "choose n_components as a number, at most {most}, or a fraction of the variance",
    ),
    "LD210": Entry(
        OptionError,
        "{option}={value!r} is not allowed",
        "",
        "choose {allowed}",
        about="An option has a value that it cannot have",
    ),
    "LD219": Entry(
        UnknownOptionError,
        "{model} has no option {option}",
        "",
        "{instead}",
        about="An option that a model does not have, perhaps by the word of another package",
    ),
    "LD206": Entry(
        OptionError,
        "{q} factors are too many for {d} columns: {dof} degrees of freedom",
        "more parameters than correlations: the factors cannot be told apart",
        "at most {most} factors",
    ),
    "LD207": Entry(
        TableError,
        "Factor analysis needs at least three columns, got {d} feature(s)",
        "with fewer, common and own variance cannot be told apart",
        "use ProbabilisticPCA",
    ),
    "LD224": Entry(
        TableError,
        "Places of {size} decode to cells beyond the largest double",
        "they lie far outside of the map, whose rows are where 'transform' puts them",
        "give places as 'transform' gives them",
        about="Places too far out to be decoded",
    ),
    "LD226": Entry(
        TableError,
        "Column {column} has {value:.3g}, so far from the model's table that its square is beyond the largest double",
        "such a number is an error of the file, or a code for a missing value",
        "correct the cell, or make it missing (NaN)",
        about="New rows too far out to be placed",
        names_rows=True,
    ),
    "LD225": Entry(
        TableWarning,
        "{rows} without any number that the map knows: {names}",
        "nothing is known of such a row, so it lies in the middle of the map, as unsure as a row can be",
        "leave it out, or find its numbers",
        about="New rows without any number",
        names_rows=True,
    ),
    "LD230": Entry(
        TableError,
        "sample_weight is not usable: {problem}",
        "a weight says how many times a row counts",
        "pass {n} finite weights >= 0, one a row",
    ),
    "LD231": Entry(
        TableWarning,
        "Row weights are not used here: every row counts once",
        "judges of dimensions and distances compare rows and cells one by one",
        "repeat the rows instead, or leave the weights out",
    ),
    # what a fit says about itself
    "LD201": Entry(
        ModelWarning,
        "{model} stopped after {passes} passes before it had converged: {reason}",
        "the result is the best seen and is marked converged_=False",
        "raise max_iter or tol",
    ),
    "LD202": Entry(
        ModelWarning,
        "The noise variance reached its floor, {floor:.3g}",
        "{q} dimensions reproduce the table exactly (rank {rank}), so nothing is left to call noise; "
        "densities are stated with this floor",
        "fewer n_components (--dims)",
    ),
    "LD202.nodes": Entry(
        ModelWarning,
        "The noise variance reached its floor, {floor:.3g}",
        "nodes sit on rows: there are as many of them as rows, or rows that are equal",
        "fewer nodes (grid, n_samples), or a larger weight_prior",
    ),
    "LD202.network": Entry(
        ModelWarning,
        "The noise variance reached its floor, {floor:.3g}",
        "the network passes through the rows: it has as many units as there are rows, or rows are equal",
        "fewer hidden units, or a larger weight_prior",
    ),
    "LD203": Entry(
        ModelWarning,
        "Components {first} to {last} have equal variance{more}",
        "their plane is determined, their directions in it are not",
        "read them together",
    ),
    "LD204": Entry(
        ModelWarning,
        "Heywood case: the uniqueness of '{column}' is on its bound, {bound}",
        "the factors explain this column (almost) completely, which is rarely believable",
        "fewer factors, or look for a near copy of this column",
    ),
    "LD205": Entry(
        ModelWarning,
        "The correlation matrix is singular; {ridge:.3g} was added to its diagonal",
        "{why}",
        "leave out copied or summed columns, or use more rows",
    ),
    "LD208": Entry(
        ModelWarning,
        "The objective fell from {before:.10g} to {after:.10g} at pass {number}",
        "it never should; the best parameters seen were kept",
        "please report this table's shape",
    ),
    "LD209": Entry(
        ModelWarning,
        "{solver} stopped with a residual of {residual:.1e} (asked: {tol:.0e})",
        "the spectrum is too flat to tell the last components apart",
        "solver='covariance', or fewer n_components",
    ),
    "LD211": Entry(
        ModelWarning,
        "Interrupted: {model} returns the best of {passes} passes, converged_=False",
        "",
        "call fit again to start anew; with Run(checkpoint=...) it goes on where it stopped",
    ),
    "LD212": Entry(
        ModelWarning,
        "{seen} cells are seen and {free} numbers are free",
        "the fit may follow the noise",
        "fewer n_components (--dims)",
    ),
    "LD214": Entry(
        FitError,
        "{model} came to a {name} that is not finite",
        "the model is as it was before this fit",
        "please report this table's shape and scale",
    ),
    "LD217": Entry(
        ModelWarning,
        "The axes hold {times} times the variance of the seen cells: they follow the noise",
        "least squares on few seen cells a row has no other limit",
        "use ProbabilisticPCA, or fewer n_components",
    ),
    "LD218": Entry(
        ModelWarning,
        "PCA() keeps {count} of {d} axes, as many as the seen cells of this table can tell",
        "all directions together reproduce every seen cell and say nothing about the gaps",
        "choose n_components",
    ),
    "LD232": Entry(
        ModelWarning,
        "{q} of the {n_start} axes that were tried are in use",
        "the table may have more than were tried, and what is beyond them counts as noise",
        "name a larger n_components",
    ),
    "LD215": Entry(
        OptionError,
        "The plot '{name}' needs {least} or more dimensions, and there are {q}",
        "the table has too little shared structure for it",
        "ask for more dims, or choose another plot",
    ),
    "LD216": Entry(OptionError, "The plot '{name}' does not apply to this table", "{why}", "choose another plot"),
    "LD216.model": Entry(OptionError, "The plot '{name}' does not apply to {model}", "{why}", "{fix}"),
    # new rows
    "LD220": Entry(
        TableError,
        "X has {got} features, but {model} is expecting {want} features as input{missing}",
        "the columns must be those the model was fitted on",
        "select or add the columns",
    ),
    "LD220.table": Entry(
        TableWarning,
        "The new table lacks {n|column|columns} {names}: a gap in every row",
        "the model was made with it",
        "add the column, or read the wider positions as what they are",
    ),
    "LD221": Entry(
        TableWarning,
        "{n} {n|column|columns} of the new rows {n|looks|look} rescaled: {names}; "
        "{n|its middle is|their middles are} {n||about }{times} the old {n|one|ones}",
        "a change of unit moves every row off the map",
        "bring {n|the column to its old unit|the columns to their old units}",
    ),
    "LD222": Entry(TableWarning, "The new table has unknown columns, which were not used: {names}", "", ""),
    "LD223": Entry(
        TableWarning,
        "The intervals of these fills are the model's own, not calibrated",
        "nothing tells how far the map's own table was from its model, as a run of an older lowdim does not",
        "make the run again:  lowdim fit TABLE",
    ),
    "LD240": Entry(VerbError, "{model} has no '{verb}'", "{why}", "{fix}", about="The model cannot have this verb"),
    # mixtures
    "LD250": Entry(
        OptionError,
        "component={component!r} cannot be a part of a mixture",
        "a part must be a density that takes weighted rows with gaps, and no step of its fit may lower its objective",
        "ProbabilisticPCA(q), FactorAnalysis(q), RobustPPCA(q), BayesianPCA(q), 'full', 'tied', 'diag' or 'spherical'",
    ),
    "LD251": Entry(
        ModelWarning,
        "{model}: component {which} is held up by the covariance floor, {floor:g} of the "
        "variances about the starting centres; it has about {rows} rows",
        "it collapsed on few or equal rows, or its columns depend on each other; densities are stated with this floor",
        "fewer components, a simpler covariance, or a higher reg_covar",
    ),
    "LD252": Entry(
        ModelWarning,
        "{model}: component {which} is empty ({count} of them hold less than half a row)",
        "there are more components than groups of rows",
        "fewer components",
    ),
    "LD253": Entry(
        TableError,
        "n_samples={n} should be >= the number of components, {n_components}",
        "every component needs a row to start from",
        "fewer components, or more rows",
    ),
    "LD254": Entry(
        TableError,
        "No column varies: {model} has nothing to tell apart",
        "equal rows have no covariance, and their density has no maximum",
        "check that the right columns were read",
    ),
    # clusters
    "LD260": Entry(
        TableError,
        "n_samples={n} should be >= n_clusters={n_clusters}",
        "every cluster needs a row to start from",
        "fewer n_clusters, or more rows",
    ),
    "LD261": Entry(
        ModelWarning,
        "Only {used} of {n_clusters} clusters have rows",
        "the rows take no more different values than that",
        "n_clusters={used}",
    ),
    "LD262": Entry(
        ModelWarning,
        "{count} {count|time|times} a cluster lost all its rows and was put on the row farthest from its centre",
        "the start was poor, or there are more clusters than groups",
        "fewer n_clusters, or more starts (n_init)",
    ),
    "LD263": Entry(
        TableError,
        "These dissimilarities cannot be used: {problem}",
        "clusters around rows need one number >= 0 for every pair of rows",
        "pass a square matrix, or a metric that gives finite numbers >= 0",
    ),
    # ratings
    "LD270": Entry(
        TableError,
        "A table of ratings needs three columns, and this one has {d}: {names}",
        "which of them are user, item and rating must be known",
        "name them:  columns=('user', 'item', 'rating'); a wide table, a row a user: pass an array",
    ),
    "LD271": Entry(
        TableError,
        "User {user} rated item {item} {times}",
        "one answer made of several would be a guess",
        "choose a rule:  duplicates='mean' or 'last'",
    ),
    "LD272": Entry(
        TableError,
        "A rating in column '{column}' is {what}",
        "a rating that is not there is a pair that is not there",
        "remove the row, or correct it",
    ),
    "LD273": Entry(
        TableTypeError,
        "Column '{column}' cannot name the {side}s: {problem}",
        "an id is a whole number or a text, the same kind in all rows",
        "turn the column into text",
    ),
    "LD274": Entry(
        TableError,
        "A rating of {value:g} is outside the scale {low:g} to {high:g}",
        "the scale says what a rating can be",
        "correct the rating, or widen the scale:  min_rating=, max_rating=",
    ),
    "LD275": Entry(
        TableError,
        "A matrix of {n} x {d} ratings does not belong to {users} users and {items} items",
        "rows and columns are told by their places",
        "give all rows and columns, or a table of (user, item, rating); new users:  fold_in or transform",
    ),
    "LD276": Entry(
        TableError,
        "There are no ratings",
        "nothing can be learnt from nothing",
        "pass at least one (user, item, rating)",
    ),
    "LD277": Entry(OptionError, "{users} users and {items} items are no pairs", "", "give one item for each user"),
    "LD278": Entry(
        TableError,
        "'{name}' cannot be read as a table of ratings: {problem}",
        "",
        "save it as CSV with a header, as Parquet or as Arrow, with columns user, item and rating",
    ),
    # two views, sources, classes
    "LD280": Entry(
        TableError,
        "CCA needs two views of the same rows: {problem}",
        "it finds what the two have in common, row by row",
        "fit(X, y) with two tables of equal length, or one table and views=k, the columns of the first",
        cases={"table": "name both, columns by place or by name:  lowdim fit FILE -m cca --views a:1-12,b:13-40"},
    ),
    "LD281": Entry(
        ModelWarning,
        "The {view} view has {d} columns but rank {rank}",
        "some of its columns follow from the others: directions without variance are left out of the "
        "correlations, and the density gives them a millionth of a column's variance",
        "leave out the columns that repeat others, or reduce the view first, e.g. by PCA(k)",
    ),
    "LD282": Entry(
        ModelWarning,
        "At least {count} of the correlations are 1 whatever the data: {n} rows, {total} columns",
        "so many columns can always be combined to agree on so few rows",
        "reduce each view first, e.g. by PCA(k), or collect more rows",
    ),
    "LD283": Entry(
        TableError,
        "{model} takes no row weights",
        "its solver counts every row once",
        "repeat the rows instead, or leave the weights out",
    ),
    "LD284": Entry(
        OptionError,
        "{n_sources} sources cannot be told apart: the table varies in {rank} {rank|direction|directions}",
        "each source needs a direction of its own (n_features = {rank}, for this purpose)",
        "n_components={rank}, or leave out columns that follow from others",
    ),
    "LD285": Entry(
        OptionError,
        "input_features should have length equal to the {want} columns of fit, and their names",
        "input_features is not equal to feature_names_in_ otherwise",
        "leave input_features out",
    ),
    "LD286": Entry(
        TableError,
        "The classes of the rows cannot be used: {problem}",
        "a discriminant tells known classes apart",
        "pass y with one class a row, at least two of them",
        cases={"table": "name the column that holds them:  lowdim fit FILE -m lda --label COLUMN"},
    ),
    "LD287": Entry(
        ModelWarning,
        "Rows of one class vary in {rank} of {d} directions only",
        "what does not vary within classes cannot be weighed against what lies between them: it is left out",
        "leave out columns that follow from others, or shrinkage=0.1",
    ),
    "LD290": Entry(
        OptionError,
        "There is no method '{name}'",
        "methods are known by short names",
        "use one of {known}",
        cases={
            "near": "did you mean {near}? Use one of {known}",
            "elsewhere": "a map that another package made is judged beside ours:  lowdim compare FILE --map "
            "COORDINATES.csv; here use one of {known}",
        },
    ),
    "LD291": Entry(
        TableWarning, "Methods are compared on {rows} of {n} rows, evenly spread", "each is fitted many times", ""
    ),
    "LD292": Entry(
        TableWarning,
        "No shared structure was found; the methods are compared with 1 dimension",
        "a map of noise keeps nothing that can be relied on",
        "choose a number yourself: dims=2 (--dims 2)",
    ),
    "LD293": Entry(
        TableError,
        "{n} rows and {d} columns are too few to hide cells and compare what fills them",
        "every repeat hides a tenth of the cells, of columns with at least 5",
        "add rows, or compare by eye",
    ),
    "LD295": Entry(
        TableWarning, "The map is judged on {rows} of {n} rows, evenly spread", "all pairs of rows are compared", ""
    ),
    "LD296": Entry(
        TableError,
        "There are {got} {what}, but {want} rows in the table",
        "a map has one place, and a label, for each row",
        "give one for each row, in the order of the table, or a column of row names in the file",
    ),
    "LD297": Entry(
        TableError,
        "Rows of the map that have no place: {count} (NaN, infinite or no coordinates)",
        "distances need finite numbers",
        "leave these rows out of both, the table and the map",
    ),
    "LD298": Entry(
        TableError,
        "The lines cannot be matched to rows of the table: {problem}",
        "the file names its rows, and lines are matched by name",
        "name them as the table does (--id COLUMN says which column that is), or leave the names out: lines "
        "then go by their order",
    ),
    "LD299": Entry(
        TableError,
        "The coordinates cannot be used: {problem}",
        "every line must hold a row's place in numbers",
        "write one line a row, e.g.  row,axis1,axis2",
    ),
    "LD288": Entry(
        ModelWarning,
        "In {count} {count|direction|directions} the noise reached its floor, a millionth of a column's variance",
        "the seen cells can be fitted exactly there: correlations near 1 say little, intervals are too narrow",
        "fewer columns, fewer n_components, or more rows",
    ),
    # columns of a mixed table
    "LD500": Entry(
        TableError,
        "Column '{column}' has more than {most} different labels",
        "each label needs weights of its own, which so few rows a label cannot tell",
        "leave the column out, or join rare labels to one",
    ),
    "LD501": Entry(
        TableError,
        "Column '{column}' cannot be of the kind '{kind}': {problem}",
        "a likelihood says which values a column can have",
        "another kind in likelihoods, e.g. 'auto', or leave the column out",
    ),
    "LD503": Entry(
        TableWarning,
        "Level '{level}' of column '{column}' never occurs",
        "no threshold can be learned for it: its probability is 0",
        "remove the level, or join it to one beside it",
    ),
    "LD504": Entry(
        TableWarning,
        "Column '{column}' has labels that were not there in the fit: {labels}",
        "nothing is known of them: these cells are taken as gaps, and stay as they are",
        "fit with rows that have these labels",
        cases={
            "nearly the same": "write {near}, which differs only by case or spaces; for others, fit with rows that "
            "have them"
        },
    ),
    "LD505": Entry(
        TableTypeError,
        "Column '{column}' holds text and, in row {row}, something else: {value}",
        "a column of labels is all text",
        "make it all text, or all numbers",
    ),
    "LD506": Entry(
        TableWarning,
        "Values that these columns did not have in the fit are taken as gaps: {cells}",
        "of a yes/no, ordinal, label, count or positive column the model knows the values it may have",
        "fit with rows that have these values",
    ),
}

"""Messages about maps, kernels and nonlinear models."""

from __future__ import annotations

from lowdim.text.errors import BudgetError, FitError, ModelWarning, OptionError, TableError, TableWarning, VerbError
from lowdim.text.messages import Entry

MAP_MESSAGES: dict[str, Entry] = {
    "LD492": Entry(
        ModelWarning,
        "{model} of {n} rows takes long",
        "{why}",
        "fit a part, --sample {most}, and place all rows:  lowdim apply RUN FILE; or -m gtm, which streams; "
        "Ctrl-C keeps the best there is",
    ),
    "LD493": Entry(
        OptionError,
        "'{path}' holds another run, {what}",
        "it would be lost",
        "-o with another name, or rename or delete that folder",
    ),
    # pairs of rows, kernels
    "LD410": Entry(
        TableError,
        "This matrix of {what} cannot be used: {problem}",
        "each pair of rows has one number, the same both ways",
        "correct the cell, or leave the row out",
        cases={
            "not symmetric": "correct the cell, or average both ways:  (D + D.T) / 2",
            "not square": "pass one row and one column for each thing; for rows of a table use metric='euclidean'",
            "diagonal": "set the diagonal to 0; similarities need metric='similarity'",
            "apart": "give one distance between the two sets of rows, or map each set by itself",
        },
    ),
    "LD411": Entry(
        TableWarning,
        "{share:.1%} of the triangles are impossible: row {i} is farther from row {j} than the way by row {by}",
        "such distances belong to no positions, and often to a typing error",
        "lowdim.robust_map(D).suspects() ranks the distances that look wrong",
    ),
    "LD412": Entry(
        ModelWarning,
        "{share:.1%} of the spread lies on {count} negative eigenvalues",
        "no positions have these {what}: the map is the nearest there is, not a true one",
        "correction='lingoes' or 'cailliez' for distances, or lowdim.robust_map if some may be wrong",
        cases={"kernel": "another kernel, or a smaller gamma"},
    ),
    "LD413": Entry(
        ModelWarning,
        "{model}: only {n_axes} of {n_components} axes have any spread; the others are zero",
        "the rows do not reach into more dimensions",
        "n_components={n_axes}, if that is not 0",
    ),
    "LD414": Entry(
        ModelWarning,
        "Degenerate kernel: under gamma={gamma:g} {problem}",
        "the map shows the kernel's width, not the rows",
        "gamma=None (the median heuristic), or a gamma near {better:g}",
    ),
    "LD415": Entry(
        TableError,
        "The kernel cannot be used: {problem}",
        "it must give one finite number for every pair of rows, the same both ways",
        "a smaller gamma or degree, standardised columns, or another kernel",
    ),
    "LD416": Entry(
        OptionError,
        "method={method!r} makes no pre-images of this model: {why}",
        "each way back from feature space needs something of the kernel",
        "{fix}",
    ),
    "LD417": Entry(
        ModelWarning,
        "{count} {count|pre-image|pre-images} stopped short of a fixed point",
        "their places lie far from every row of the fit, or gamma is large: they stay at the nearest row, "
        "or where they were",
        "a smaller gamma, or method='learned'",
    ),
    "LD418": Entry(OptionError, "approximation={value!r} is not possible: {why}", "", "{fix}"),
    "LD419": Entry(
        TableError,
        "These distances leave the map in {count} pieces",
        "nothing says how far apart the pieces lie",
        "give a distance between row {i} and row {j}, say",
    ),
    # neighbourhoods
    "LD430": Entry(
        ModelWarning,
        "The neighbourhood graph is in {count} pieces, of {sizes} rows",
        "{done}",
        "more n_neighbors (now {k}), or choose pieces='bridge', 'largest' or 'each'",
    ),
    "LD431": Entry(
        TableError,
        "All {n} rows are equal",
        "equal rows share a place, so there is nothing to map",
        "a table with at least two different rows",
    ),
    "LD432": Entry(
        ModelWarning,
        "n_neighbors={n_neighbors} of {n} different rows: {most} are used and join every row to all",
        "the graph is complete, and {model} sees no neighbourhoods",
        "fewer n_neighbors, or more rows",
    ),
    "LD433": Entry(
        OptionError,
        "pieces={pieces!r} is not possible: the graph is in {count} pieces",
        "nothing says how far apart they are",
        "pieces='each', or all distances (metric='precomputed')",
    ),
    "LD434": Entry(
        TableError,
        "Rows without an edge to any row of the map: {count}",
        "a row is placed by its neighbours among the rows of fit",
        "give each row at least one edge to those rows",
    ),
    "LD435": Entry(
        VerbError,
        "No row can be placed on axis {axis}: its eigenvalue is 1",
        "there a row's neighbours say nothing of its place: rows with the same ones lie apart",
        "fewer n_components, more n_neighbors, or read embedding_",
    ),
    "LD436": Entry(
        ModelWarning,
        "{k} neighbours cannot span {q} dimensions",
        "a row's weights then say nothing about the last of them",
        "n_neighbors of at least {q} + 1",
    ),
    "LD437": Entry(
        OptionError,
        "reg=0 is not possible with {k} neighbours in {d} dimensions",
        "many weights then describe a row equally well",
        "reg=1e-3, or fewer n_neighbors",
    ),
    "LD438": Entry(
        ModelWarning,
        "Rows joined to none under heat weights of width {width:.4g}: {count}",
        "they lie too far from their neighbours, all of which then count alike",
        "a larger width, weights='binary', or look at these rows: they may be errors",
    ),
    "LD439": Entry(
        ModelWarning,
        "{count} groups of rows are averages of themselves alone: each shrinks to a point",
        "the weights join them to nothing else",
        "more n_neighbors, or variant='acyclic'",
    ),
    # nonlinear models
    # unfolding and the random field
    "LD450": Entry(
        TableError,
        "{model} has a field over {want} rows, and this table has {got}",
        "a column of the table is one draw from the field",
        "pass the table the map was made of; of a map of its largest piece, X[model.rows_]",
    ),
    "LD451": Entry(
        OptionError,
        "A field over {n} rows has {n} x {n} covariances; up to {most} rows are worked out",
        "all of its eigenvectors are needed",
        "fit fewer rows, e.g. every tenth",
    ),
    "LD452": Entry(
        TableError,
        "No column varies: the table has no likelihood under a field",
        "",
        "check that the right columns were read",
    ),
    "LD453": Entry(
        ModelWarning,
        "The unfolding stopped early: tr K may lack {gap:.1e} of itself after {steps} steps",
        "the program is badly conditioned: edges of very different lengths, or a graph on a thread",
        "other n_neighbors, or fewer n_landmarks",
    ),
    "LD454": Entry(
        ModelWarning,
        "The springs are not at their best: optimality holds to {kkt:.1e} after {steps} steps",
        "free multipliers can make the likelihood almost unbounded",
        "multipliers='positive', or a larger eps",
    ),
    "LD458": Entry(
        ModelWarning,
        "The closest neighbours' squared distance is {times} times below the mean variance",
        "springs that stiff would leave the others no digits: 2 p {eps:g} of it was added to all of them",
        "merge rows that almost coincide, or take the log of columns of long tails",
    ),
    "LD455": Entry(
        TableError,
        "A map of {rows} rows does not belong to a table of {table} rows",
        "each row of the table needs its place",
        "pass the map of this table",
    ),
    "LD456": Entry(
        OptionError,
        "{n} rows are more than the {most} that a Gaussian process is fitted to",
        "every step factorises an n x n matrix",
        "score the same rows of map and table: Z[::k], Y[::k]",
    ),
    "LD457": Entry(
        TableError,
        "All rows of the {what} are equal",
        "there is nothing to regress",
        "check that the right columns were read",
    ),
    "LD471": Entry(
        ModelWarning,
        "The kernel's {name} ran to its bound",
        "the table says only that it is larger (or smaller): rows that are equal, or a straight-line table",
        "kernel='linear' for a straight line, leave out copies, or GPLVM(kernel='rbf+white(1e-3)')",
    ),
    "LD472": Entry(
        ModelWarning,
        "{jitter:.0e} of the mean variance was added to the kernel's diagonal",
        "without it the matrix could not be factorised: rows that are equal, or almost no noise",
        "leave out rows that are copies; the fit is otherwise sound",
    ),
    "LD473": Entry(
        FitError,
        "The kernel's matrix cannot be factorised (condition number {condition:.1e})",
        "adding 1e-4 of the mean variance to its diagonal was not enough",
        "leave out rows that are copies, another start (init or random_state), or fewer n_components",
    ),
    "LD474": Entry(
        OptionError,
        "init has the shape {shape} or cells that are not finite, {n} x {q} places are needed",
        "each row of the table needs a place",
        "pass an array of {n} rows and {q} columns, or init='auto'",
    ),
    "LD475": Entry(
        OptionError,
        "back_constraints=True needs complete rows, and {count} cells are missing",
        "places are then a function of whole rows",
        "back_constraints=False, or fill the gaps first",
    ),
    "LD476": Entry(
        ModelWarning,
        "The sheet has {bells} bells, and the table {n} rows",
        "so bendy a sheet can pass through every row; between rows only the weights' prior holds it",
        "fewer bells (basis), weight_prior='auto' or larger, or more rows; fewer nodes than {nodes} will do (grid)",
    ),
    "LD477": Entry(
        ModelWarning,
        "Intervals of fills have to be {factor} times as wide as the model believes to be true",
        "cells that were held back are told far worse than the model believes: it follows single rows; the "
        "intervals are as much wider, but no wider than those of a row of which nothing is known",
        "fewer dimensions, weight_prior='auto' (GTM, density networks), another model (lowdim compare), or more rows",
    ),
    "LD478": Entry(
        BudgetError,
        "A GP-LVM of {n:,} rows takes about {need} of one core; its default goes to {most:,} rows",
        "its time grows as the cube of the rows; back constraints and the kernel mlp have no inducing points",
        "kernel 'rbf' without back constraints, BayesianGPLVM() or GTM(); GPLVM(n_init=1) lets it take that long",
    ),
    "LD479": Entry(
        ModelWarning,
        "The GP-LVM of {n:,} rows is fitted through {m} inducing points",
        "with more than {most:,} rows the likelihood itself takes hours; a bound through few points is a little lower",
        "n_inducing says how many; as many as rows are the likelihood itself",
    ),
    "LD480": Entry(
        ModelWarning,
        "Training ran away to a value of {value} after {epochs} epochs; epoch {best} is kept",
        "the weights found later do worse on the rows that are watched",
        "a smaller learning_rate, a larger batch_size, or batch_size=None (L-BFGS)",
    ),
}

// The page of `lowdim explore`: the module in the whole window, its state in the address.
import explore from "./explore.js";

explore.render({el: document.getElementById("explore")});

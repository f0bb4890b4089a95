// What the scripts of the page find in the browser besides its own: the library that places boxes.
declare const dagre: any;

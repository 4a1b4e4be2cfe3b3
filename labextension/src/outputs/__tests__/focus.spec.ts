import { reachScrolled } from '../focus';

it('lets the keyboard reach what scrolls', () => {
  const node = document.createElement('div');
  node.innerHTML = '<div style="overflow-x:auto">wide</div><pre>x</pre><div style="overflow-wrap:anywhere">y</div>';
  reachScrolled(node);
  expect([...node.children].map(part => part.getAttribute('tabindex'))).toEqual(['0', '0', null]);
});

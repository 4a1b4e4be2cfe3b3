import { pathInLab } from '../paths';

it.each([
  ['growth.ipynb', 'growth.py', 'growth.py'],
  ['work/growth.ipynb', 'growth.py', 'work/growth.py'],
  ['work/growth.ipynb', 'lib/growth.py', 'work/lib/growth.py'],
  ['work/growth.ipynb', '../growth.py', 'growth.py'],
  ['growth.ipynb', '../growth.py', null],
  ['growth.ipynb', '/tmp/growth.py', null],
  ['growth.ipynb', '~/growth.py', null],
  ['growth.ipynb', 'C:\\growth.py', null]
])('from %s, %s is %s in JupyterLab', (notebook, path, shown) => expect(pathInLab(notebook, path)).toBe(shown));

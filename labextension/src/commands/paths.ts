import { PathExt } from '@jupyterlab/coreutils';

/**
 * The path of the file in JupyterLab; `null` if it is outside of the folder of JupyterLab.
 *
 * @param notebook path of the notebook in JupyterLab; the kernel starts in its folder
 * @param path the path for the kernel
 */
export function pathInLab(notebook: string, path: string): string | null {
  if (/^([/~\\]|[A-Za-z]:)/.test(path)) {
    return null;
  }
  const joined = PathExt.normalize(PathExt.join(PathExt.dirname(notebook), path.replaceAll('\\', '/')));
  return joined === '..' || joined.startsWith('../') ? null : joined;
}

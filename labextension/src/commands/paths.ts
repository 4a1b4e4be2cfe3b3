import { PathExt } from '@jupyterlab/coreutils';

/**
 * The path under which JupyterLab shows the file; `null` when it lies outside of what JupyterLab shows.
 *
 * @param notebook path of the notebook in JupyterLab, whose folder the kernel begins in
 * @param path as the kernel reads it
 */
export function pathInLab(notebook: string, path: string): string | null {
  if (/^([/~\\]|[A-Za-z]:)/.test(path)) {
    return null;
  }
  const joined = PathExt.normalize(PathExt.join(PathExt.dirname(notebook), path.replaceAll('\\', '/')));
  return joined === '..' || joined.startsWith('../') ? null : joined;
}

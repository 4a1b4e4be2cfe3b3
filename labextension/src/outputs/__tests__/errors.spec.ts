import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { MimeModel } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Widget } from '@lumino/widgets';

import { newCell } from '../../cells/first';
import type { ILink } from '../../link/tokens';
import { ERROR_MIME, errorFactory } from '../errors';

jest.mock('../../cells/first', () => ({ newCell: jest.fn() }));

const CODE = 'sales["revenu"]';
const STACK = ['-----', "KeyError: 'revenu'"];
const OWN = ['InvalidRequest: There is no option --foo.', '  Did you mean --tool?'];

const rendermime = {
  createRenderer: () => {
    const renderer = new Widget() as Widget & IRenderMime.IRenderer;
    renderer.renderModel = async ({ data }) => {
      renderer.node.innerHTML = '<pre></pre>';
      renderer.node.firstElementChild!.textContent = String(data['application/vnd.jupyter.stderr']);
    };
    return renderer;
  }
} as unknown as IRenderMimeRegistry;

interface IGiven {
  ename?: string;
  traceback?: unknown;
  code?: string | null;
  mime?: string;
}

/** The output of an error below its cell; `code` is `null` outside of a cell. */
async function shown(
  given: IGiven,
  rendered = (rendering: Promise<void>): Promise<void> => rendering
): Promise<{ output: Widget; notebook: NotebookPanel }> {
  const { ename = 'KeyError', traceback = STACK, code = CODE, mime = 'text/x-ipython' } = given;
  const node = document.createElement('div');
  document.body.replaceChildren(node);
  const cell = { node: code === null ? document.createElement('div') : node };
  const model = { sharedModel: { getSource: () => code } };
  const content = {
    widgets: [
      { node: document.createElement('i'), model },
      { ...cell, model }
    ],
    codeMimetype: mime
  };
  const notebook = { content: { ...content, activeCellIndex: 0, deselectAll: () => undefined } } as never;
  const output = errorFactory(notebook, rendermime, { forNotebook: () => null } as unknown as ILink).createRenderer({
    mimeType: ERROR_MIME
  } as never);
  const text = Array.isArray(traceback) ? traceback.join('\n') : '';
  const error = { ename, evalue: 'no', traceback } as never;
  const data = { [ERROR_MIME]: error, 'application/vnd.jupyter.stderr': text };
  Widget.attach(output, node);
  await rendered(output.renderModel(new MimeModel({ data, trusted: false })));
  return { output, notebook };
}

const button = (output: Widget): HTMLElement | null =>
  output.node.querySelector<HTMLElement>('.lm-Widget:not(.lm-mod-hidden) > button');

it('writes a request into a cell below that of the error, and runs nothing', async () => {
  const { output, notebook } = await shown({});
  button(output)!.click();
  expect(newCell).toHaveBeenCalledTimes(1);
  const [[panel, , write]] = jest.mocked(newCell).mock.calls;
  expect([panel, notebook.content.activeCellIndex]).toEqual([notebook, 1]);
  expect(write!([], [{ name: 'sales', type: 'DataFrame' }])).toMatch(
    /^%%autocode fixed\nDo what this code is meant to do, with @sales\.\n\n {4}sales\["revenu"\]\n/
  );
});

it.each<[string, IGiven]>([
  ['an interrupt', { ename: 'KeyboardInterrupt' }],
  ['one of ours', { ename: 'InvalidRequest', traceback: OWN }],
  ['a cell of ours', { code: '\n%%autocode growth\nTotal.' }],
  ['tests of ours', { code: '%%autocode_test growth\ndef test(): ...' }],
  ['a line of ours', { code: 'x = 1\n%autocode show x' }],
  ['a cell in another language', { code: '%%bash\nls' }],
  ['a notebook in another language', { mime: 'text/x-rsrc' }],
  ['a view outside of the notebook', { code: null }],
  ['an output that is damaged', { traceback: [7] }],
  ['an output without a stack', { traceback: 'x' }]
])('offers nothing for %s', async (_, given) => {
  expect(button((await shown(given)).output)).toBeNull();
});

it('offers it for a timed cell, and for an error that only has the name of one of ours', async () => {
  for (const code of ['%%time\nsales', 'x = """\n%%bash\n"""']) {
    expect(button((await shown({ code })).output)).not.toBeNull();
  }
  const { output } = await shown({ ename: 'Cancelled', traceback: ['-----', 'Cancelled: no'] });
  expect([button(output) !== null, output.node.querySelector('a')]).toEqual([true, null]);
});

it('links the name of one of ours to what it means', async () => {
  const { output } = await shown({ ename: 'InvalidRequest', traceback: OWN });
  const link = output.node.querySelector('a')!;
  expect(link.textContent).toBe('InvalidRequest');
  expect(link.href).toMatch(/^https:\/\/.*\/troubleshooting\.html#invalidrequest$/);
  expect([link.target, link.rel]).toEqual(['_blank', 'noopener noreferrer']);
  expect(output.node.querySelector('pre')!.textContent).toBe(OWN.join('\n'));
});

it('offers it while JupyterLab still renders the text', async () => {
  jest.spyOn(rendermime, 'createRenderer').mockImplementationOnce(() => {
    return Object.assign(new Widget(), { renderModel: () => new Promise<void>(() => undefined) }) as never;
  });
  const { output } = await shown({}, async () => undefined);
  expect(button(output)).not.toBeNull();
});

import type { IResults } from '../../results/tokens';
import { VOCABULARY } from '../../vocabulary';
import type { IVersion } from '../versionManager';
import { VersionManager } from '../versionManager';

const VERSION = { number: '2' } as IVersion;

/** The lines that a kernel with these subcommands gets. */
async function linesOf(subcommands: { name: string }[]): Promise<string[]> {
  const lines: string[] = [];
  const requestExecute = ({ code }: { code: string }) => {
    lines.push(code);
    return { done: Promise.resolve() };
  };
  const notebook = { sessionContext: { session: { kernel: { requestExecute } } } };
  const link = { vocabulary: { ...VOCABULARY, subcommands } };
  const manager = new VersionManager({ notebook, link } as unknown as IResults);
  await manager.change('restore', 'growth', VERSION);
  await manager.change('unpin', 'growth', VERSION);
  return lines;
}

test('a kernel gets the line that it knows', async () => {
  expect(await linesOf(VOCABULARY.subcommands)).toEqual([
    '%autocode versions growth restore 2',
    '%autocode versions growth pin --off'
  ]);
  expect(await linesOf([{ name: 'restore' }])).toEqual(['%autocode restore growth 2', '%autocode pin growth --off']);
});

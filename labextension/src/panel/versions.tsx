import * as React from 'react';

import type { Change, IVersion, Keeper } from './keeper';

interface IVersionsProps {
  name: string;
  /** Changes when there may be a new version. */
  run: string;
  keeper: Pick<Keeper, 'versions' | 'change' | 'rename'>;
}

/** What there is of a function: who made each version, why, and which one counts; read when it is opened. */
export function Versions({ name, run, keeper }: IVersionsProps): React.ReactElement {
  const [isOpen, open] = React.useState(false);
  const [versions, setVersions] = React.useState<readonly IVersion[]>([]);
  const [told, tell] = React.useState('');

  const look = async (): Promise<void> => {
    try {
      setVersions(await keeper.versions(name));
    } catch (error) {
      tell(sentence(error));
    }
  };
  const act = async (work: Promise<string>): Promise<void> => {
    try {
      tell(await work);
    } catch (error) {
      tell(sentence(error));
    }
    await look();
  };
  React.useEffect(() => {
    if (isOpen) {
      void look();
    }
  }, [isOpen, name, run]);

  return (
    <details className="jp-AutocodePanel-versions" onToggle={event => open(event.currentTarget.open)}>
      <summary>Versions</summary>
      {isOpen && (
        <>
          <ul aria-label={`Versions of ${name}`}>
            {versions.map(version => (
              <li key={version.number} title={version.request}>
                <div>
                  <strong>{version.number}</strong> {[version.state, version.by, version.started].join(' · ')}
                </div>
                {(version.why || version.evidence) && <div>{version.why || version.evidence}</div>}
                {changes(version).map(change => (
                  <button
                    key={change}
                    type="button"
                    aria-label={`${titled(change)} version ${version.number} of ${name}`}
                    onClick={() => void act(keeper.change(change, name, version))}
                  >
                    {titled(change)}
                  </button>
                ))}
              </li>
            ))}
          </ul>
          <button type="button" aria-label={`Rename ${name}`} onClick={() => void act(keeper.rename(name))}>
            Rename…
          </button>
          <p role="status">{told}</p>
        </>
      )}
    </details>
  );
}

/** What can be done with a version as it stands. */
function changes({ state }: IVersion): Change[] {
  const isGood = state.startsWith('ready');
  const isPinned = state.includes('pinned');
  const offered: [boolean, Change][] = [
    [isGood && !isPinned && !state.includes('counts'), 'restore'],
    [isGood && !isPinned, 'pin'],
    [isPinned, 'let go'],
    [true, 'remove']
  ];
  return offered.filter(([fits]) => fits).map(([, change]) => change);
}

function titled(change: Change): string {
  return change.charAt(0).toUpperCase() + change.slice(1);
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

import * as React from 'react';

import type { Change, IVersion, VersionManager } from './versionManager';

interface IVersionsProps {
  name: string;
  /** Changes when there may be a new version. */
  run: string;
  versionManager: Pick<VersionManager, 'versions' | 'change' | 'rename'>;
}

/** The versions of a function with author and reason, and which one is current; read when the list is opened. */
export function Versions({ name, run, versionManager }: IVersionsProps): React.ReactElement {
  const [isOpen, open] = React.useState(false);
  const [versions, setVersions] = React.useState<readonly IVersion[]>([]);
  const [told, tell] = React.useState('');
  const list = React.useRef<HTMLDetailsElement>(null);
  const pressed = React.useRef(false);

  const look = async (): Promise<void> => {
    try {
      setVersions(await versionManager.versions(name));
    } catch (error) {
      tell(sentence(error));
    }
  };
  const act = async (work: Promise<string>): Promise<void> => {
    pressed.current = true;
    try {
      tell(await work);
    } catch (error) {
      tell(sentence(error));
    }
    await look();
  };
  React.useEffect(() => {
    // The pressed button may be gone, as Restore is. Keyboard users stay in the list.
    if (pressed.current && document.activeElement === document.body) {
      list.current?.querySelector('summary')?.focus();
    }
    pressed.current = false;
  }, [versions]);
  React.useEffect(() => {
    if (isOpen) {
      void look();
    }
  }, [isOpen, name, run]);

  return (
    <details ref={list} className="jp-AutocodePanel-versions" onToggle={event => open(event.currentTarget.open)}>
      <summary>Versions</summary>
      {isOpen && (
        <>
          <ul aria-label={`Versions of ${name}`}>
            {versions.map(version => (
              <li key={version.number} title={version.request}>
                <div>
                  <strong>{version.number}</strong> {[version.state, version.by, version.started].join(' · ')}
                </div>
                {words(version) && <div>{words(version)}</div>}
                {changes(version).map(change => (
                  <button
                    key={change}
                    type="button"
                    aria-label={`${titled(change)} version ${version.number} of ${name}`}
                    onClick={() => void act(versionManager.change(change, name, version))}
                  >
                    {titled(change)}
                  </button>
                ))}
              </li>
            ))}
          </ul>
          <button type="button" aria-label={`Rename ${name}`} onClick={() => void act(versionManager.rename(name))}>
            Rename…
          </button>
          <p role="status">{told}</p>
        </>
      )}
    </details>
  );
}

/** Why it was written, or what passed. What passed for the current one stands above the list. */
function words(version: IVersion): string {
  return version.why || (isCurrent(version) ? '' : version.evidence);
}

function isCurrent({ state }: IVersion): boolean {
  return /current|counts/.test(state);
}

/** The actions that are possible for a version. */
function changes(version: IVersion): Change[] {
  const { state } = version;
  const isGood = state.startsWith('ready');
  const isPinned = state.includes('pinned');
  const offered: [boolean, Change][] = [
    [isGood && !isPinned && !isCurrent(version), 'restore'],
    [isGood && !isPinned, 'pin'],
    [isPinned, 'unpin'],
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

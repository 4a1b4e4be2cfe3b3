import * as React from 'react';

import { STANDING_ICONS } from '../icons';
import type { IEntry, Standing } from '../results/entries';
import { STANDINGS, standing, word } from '../results/entries';
import { FirstRun } from './firstRun';
import type { IItemProps } from './item';
import { Item } from './item';
import type { Start } from './start';

/** As many results are seen at a glance; more get a filter. */
const FEW = 5;

interface IListProps extends Omit<IItemProps, 'entry'> {
  entries: readonly IEntry[];
  /** Whether a notebook is open. */
  isOpen: boolean;
  /** Whether the extension is loaded in its kernel. */
  isLoaded: boolean;
  /** The first steps; `null` if settings cannot be saved. */
  start: Start | null;
  /** Whether the first steps are shown beside results. */
  showsStart: boolean;
}

/** All results, or the steps to get the first one. */
export function ResultList(props: IListProps): React.ReactElement {
  const { entries, isOpen, isLoaded, start, showsStart, ...shared } = props;
  if (entries.length === 0) {
    return <Invitation isOpen={isOpen} isLoaded={isLoaded} start={start} />;
  }
  return (
    <>
      {showsStart && start !== null && (
        <div className="jp-AutocodePanel-empty">
          <FirstRun {...{ start, isLoaded }} />
        </div>
      )}
      <Results entries={entries} {...shared} />
    </>
  );
}

function Invitation(props: { isOpen: boolean; isLoaded: boolean; start: Start | null }): React.ReactElement {
  const { isOpen, isLoaded, start } = props;
  if (!isOpen) {
    return <p className="jp-AutocodePanel-empty">Open a notebook to see its results here.</p>;
  }
  return (
    <div className="jp-AutocodePanel-empty">
      <p>No results yet.</p>
      {!isLoaded && (
        <p>
          Load the extension in a cell: <code>%load_ext autocoder_jupyter</code>
        </p>
      )}
      <p>{isLoaded ? 'Describe' : 'Then describe'} in a cell what you need, and run it:</p>
      <pre>{'%%autocode growth\nMonthly revenue growth from @sales.'}</pre>
      {start !== null && <FirstRun {...{ start, isLoaded }} />}
    </div>
  );
}

function Results({ entries, ...shared }: Omit<IItemProps, 'entry'> & Pick<IListProps, 'entries'>): React.ReactElement {
  const [words, search] = React.useState('');
  const [kind, choose] = React.useState<Standing | null>(null);
  const [reached, reach] = React.useState('');
  const isMany = entries.length > FEW;
  const only = isMany && entries.some(entry => standing(entry) === kind) ? kind : null; // the last one may have changed
  const wanted = isMany ? words.trim().toLowerCase() : '';
  const shown = entries.filter(
    entry =>
      (only === null || standing(entry) === only) && `${entry.name} ${word(entry)}`.toLowerCase().includes(wanted)
  );
  const current = shown.some(({ name }) => name === reached) ? reached : shown[0]?.name;
  return (
    <>
      {isMany && <Filter {...{ entries, shown: shown.length, words, search, only, choose }} />}
      <ul className="jp-AutocodePanel-list" aria-label="Results of this notebook" role="list" onKeyDown={walk}>
        {shown.map(entry => {
          const { name } = entry;
          return <Item key={name} {...{ entry, ...shared }} isCurrent={name === current} onReach={() => reach(name)} />;
        })}
      </ul>
    </>
  );
}

interface IFilterProps {
  entries: readonly IEntry[];
  /** How many entries pass. */
  shown: number;
  words: string;
  search: (words: string) => void;
  only: Standing | null;
  choose: (kind: Standing | null) => void;
}

/** A field for names and states, and a button with the count of each state that occurs. */
function Filter({ entries, shown, words, search, only, choose }: IFilterProps): React.ReactElement {
  const counts = (Object.keys(STANDINGS) as Standing[])
    .map(kind => [kind, entries.filter(entry => standing(entry) === kind).length] as const)
    .filter(([, count]) => count > 0);
  return (
    <div className="jp-AutocodePanel-filter" role="search" aria-label="Filter of the results">
      <input
        type="search"
        aria-label="Filter by name or state"
        placeholder={`Filter ${entries.length} results`}
        value={words}
        spellCheck={false}
        onChange={event => search(event.target.value)}
      />
      <div role="group" aria-label="Show only">
        {counts.map(([kind, count]) => {
          const Icon = STANDING_ICONS[kind];
          const label = `${count} ${STANDINGS[kind]}`;
          return (
            <button
              key={kind}
              type="button"
              className={`jp-mod-${kind}`}
              aria-pressed={only === kind}
              aria-label={label}
              title={label}
              onClick={() => choose(only === kind ? null : kind)}
            >
              <Icon.react tag="span" className="jp-AutocodePanel-standing" aria-hidden="true" />
              {count}
            </button>
          );
        })}
      </div>
      <p role="status">{shown < entries.length && `${shown} of ${entries.length} results`}</p>
    </div>
  );
}

/** Lead from one result to another by arrow keys. */
function walk(event: React.KeyboardEvent<HTMLElement>): void {
  const names = [...event.currentTarget.querySelectorAll<HTMLElement>('.jp-AutocodePanel-name')];
  const at = names.indexOf(event.target as HTMLElement);
  const goals: { [key: string]: number } = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: names.length - 1 };
  const goal = names[goals[event.key] ?? -1];
  if (at !== -1 && goal !== undefined) {
    event.preventDefault();
    goal.focus();
  }
}

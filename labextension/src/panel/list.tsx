import type { LabIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import { counted } from '../results/amounts';
import type { IEntry } from '../results/entries';
import { allows, facts, isUnderWay, standing, word } from '../results/entries';
import { ACT_ICONS, STANDING_ICONS } from '../icons';
import { FirstRun } from './firstRun';
import type { VersionManager } from './versionManager';
import type { Start } from './start';
import { Thumbnail } from './thumbnail';
import { Versions } from './versions';

/** Executes an action for an entry. */
type Execute = (action: string, entry: IEntry) => void;

interface IListProps {
  entries: readonly IEntry[];
  /** Seconds since the kernel sent its jobs. */
  since: number;
  /** Whether a notebook is open. */
  isOpen: boolean;
  /** Whether the extension is loaded in its kernel. */
  isLoaded: boolean;
  execute: Execute;
  /** The first steps; `null` if settings cannot be saved. */
  start: Start | null;
  versionManager: VersionManager;
  /** Asks the kernel for the picture of a result. */
  picture: (name: string) => Promise<string | null>;
}

/** All results, or the steps to get the first one. */
export function ResultList({
  entries,
  since,
  isOpen,
  isLoaded,
  execute,
  start,
  versionManager,
  picture
}: IListProps): React.ReactElement {
  if (entries.length === 0) {
    return <Invitation isOpen={isOpen} isLoaded={isLoaded} start={start} />;
  }
  return (
    <ul className="jp-AutocodePanel-list" aria-label="Results of this notebook" role="list">
      {entries.map(entry => (
        <Item key={entry.name} {...{ entry, since, execute, versionManager, picture }} />
      ))}
    </ul>
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

interface IItemProps {
  entry: IEntry;
  since: number;
  execute: Execute;
  versionManager: VersionManager;
  picture: (name: string) => Promise<string | null>;
}

function Item({ entry, since, execute, versionManager, picture }: IItemProps): React.ReactElement {
  const { name, job } = entry;
  const how = standing(entry);
  const Icon = STANDING_ICONS[how];
  return (
    <li className={`jp-AutocodePanel-item jp-mod-${how}`} data-name={name} aria-label={`${name}: ${word(entry)}`}>
      <div className="jp-AutocodePanel-head">
        <Icon.react tag="span" className="jp-AutocodePanel-standing" aria-hidden="true" />
        <strong title={job?.rows.Call?.[0]}>{name}</strong>
        <span className="jp-AutocodePanel-word">{word(entry)}</span>
        <Actions entry={entry} execute={execute} />
      </div>
      {job !== null && (
        <>
          {isUnderWay(job) && <Bar value={job.progress} label={`Progress of ${name}`} />}
          {job.rows.Verified?.map(words => (
            <p key={words} className="jp-AutocodePanel-verified">
              {words.charAt(0).toUpperCase() + words.slice(1)}
            </p>
          ))}
          {job.rows.Reason?.length > 0 && <p className="jp-AutocodePanel-reason">{job.rows.Reason.join('\n')}</p>}
          {!isUnderWay(job) && <Thumbnail name={name} run={job.step} picture={picture} />}
          <Facts facts={facts(job, since)} />
          {job.asks !== '' && <Consent key={job.question} entry={entry} asks={job.asks} execute={execute} />}
          {[...(job.rows.Note ?? []), ...(job.rows.Warnings ?? [])].map(warning => (
            <p key={warning} className="jp-AutocodePanel-warning">
              {warning}
            </p>
          ))}
          {!isUnderWay(job) && <Evidence held={job.rows.Passed ?? []} signature={job.rows.Call?.[0] ?? ''} />}
          {job.actions.includes('versions') && <Versions name={name} run={job.step} versionManager={versionManager} />}
        </>
      )}
    </li>
  );
}

function Actions({ entry, execute }: { entry: IEntry; execute: Execute }): React.ReactElement {
  const { name, job, cellId } = entry;
  const offers: [boolean, LabIcon, string, string][] = [
    [allows(job, 'cancel'), ACT_ICONS.cancel, 'cancel', `Cancel ${name}`],
    [allows(job, 'inspect'), ACT_ICONS.inspect, 'inspect', `Inspect ${name}`],
    [allows(job, 'insert-code'), ACT_ICONS.insert, 'insert-code', `Insert the code of ${name} below its cell`],
    [allows(job, 'export'), ACT_ICONS.export, 'export', `Export ${name} as a script`],
    [cellId !== null, ACT_ICONS.reveal, 'reveal-cell', `Show the cell of ${name}`]
  ];
  return (
    <span className="jp-AutocodePanel-actions">
      {offers
        .filter(([offered]) => offered)
        .map(([, Icon, action, label]) => (
          <button key={action} type="button" title={label} aria-label={label} onClick={() => execute(action, entry)}>
            <Icon.react tag="span" />
          </button>
        ))}
    </span>
  );
}

/** Milliseconds that a new question is shown before it can be answered, so that a double click answers one only. */
const SEEN_MS = 700;

function Consent(props: { entry: IEntry; asks: string; execute: Execute }): React.ReactElement {
  const { entry, asks, execute } = props;
  const [seen, setSeen] = React.useState(false);
  React.useEffect(() => {
    const timer = setTimeout(() => setSeen(true), SEEN_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="jp-AutocodePanel-consent" role="group" aria-label={`Question of ${entry.name}`}>
      <p>{asks}</p>
      <button
        type="button"
        className="jp-Button jp-mod-styled jp-mod-accept"
        disabled={!seen}
        onClick={() => execute('approve', entry)}
      >
        Approve
      </button>
      <button
        type="button"
        className="jp-Button jp-mod-styled jp-mod-reject"
        disabled={!seen}
        onClick={() => execute('decline', entry)}
      >
        Decline
      </button>
    </div>
  );
}

function Evidence(props: { held: readonly string[]; signature: string }): React.ReactElement | null {
  const { held, signature } = props;
  if (held.length === 0) {
    return null;
  }
  return (
    <details className="jp-AutocodePanel-evidence">
      <summary>{`${counted(held.length, 'check')} passed`}</summary>
      {signature && <code>{signature}</code>}
      <ul>
        {held.map(line => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  );
}

function Facts({ facts }: { facts: readonly string[] }): React.ReactElement | null {
  if (facts.length === 0) {
    return null;
  }
  return (
    <div className="jp-AutocodePanel-facts">
      {facts.map((fact, at) => (
        <span key={at}>{fact}</span>
      ))}
    </div>
  );
}

function Bar({ value, label }: { value: number; label: string }): React.ReactElement {
  const percent = Math.round(100 * value);
  return (
    <div
      className="jp-AutocodePanel-bar"
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <div style={{ width: `${percent}%` }} />
    </div>
  );
}

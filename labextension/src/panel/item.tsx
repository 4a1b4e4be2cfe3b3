import type { LabIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import { ACT_ICONS, STANDING_ICONS } from '../icons';
import { clock } from '../results/amounts';
import type { IEntry } from '../results/entries';
import { allows, capitalized, facts, isUnderWay, standing, told, word } from '../results/entries';
import { Thumbnail } from './thumbnail';
import type { VersionManager } from './versionManager';
import { Versions } from './versions';

/** Executes an action for an entry. */
export type Execute = (action: string, entry: IEntry) => void;

export interface IItemProps {
  entry: IEntry;
  /** Seconds since the kernel sent its jobs. */
  since: number;
  execute: Execute;
  versionManager: VersionManager;
  /** Asks the kernel for the picture of a result. */
  picture: (name: string) => Promise<string | null>;
}

interface ILineProps {
  /** Whether the Tab key leads here; arrow keys lead to the others. */
  isCurrent: boolean;
  /** Called when it gets the focus. */
  onReach: () => void;
}

/** A result in one line. Its name unfolds what a pointer over it shows; what it asks is always shown. */
export function Item(props: IItemProps & ILineProps): React.ReactElement {
  const { entry, since, execute, isCurrent, onReach } = props;
  const [isOpen, open] = React.useState(false);
  const { name, job } = entry;
  const how = standing(entry);
  const Icon = STANDING_ICONS[how];
  return (
    <li className={`jp-AutocodePanel-item jp-mod-${how}`} data-name={name} aria-label={`${name}: ${word(entry)}`}>
      <div className="jp-AutocodePanel-head" title={isOpen ? undefined : told(entry, since)}>
        <Icon.react tag="span" className="jp-AutocodePanel-standing" aria-hidden="true" />
        <button
          type="button"
          className="jp-AutocodePanel-name"
          aria-expanded={isOpen}
          tabIndex={isCurrent ? 0 : -1}
          onFocus={onReach}
          onClick={() => open(!isOpen)}
        >
          {name}
        </button>
        <span className="jp-AutocodePanel-word">
          {isUnderWay(job) && `${clock(job!.seconds + since)} `}
          {job?.title}
        </span>
        <Actions entry={entry} execute={execute} />
      </div>
      {isUnderWay(job) && <Bar value={job!.progress} label={`Progress of ${name}`} />}
      {job !== null && job.asks !== '' && (
        <Consent key={job.question} entry={entry} asks={job.asks} execute={execute} />
      )}
      {isOpen && <Details {...props} />}
    </li>
  );
}

function Details({ entry, since, versionManager, picture }: IItemProps): React.ReactElement {
  const { name, job } = entry;
  return (
    <div className="jp-AutocodePanel-details">
      <p>{word(entry)}</p>
      {job !== null && (
        <>
          {job.rows.Call?.map(call => (
            <code key={call}>{call}</code>
          ))}
          {job.rows.Verified?.map(words => (
            <p key={words}>{capitalized(words)}</p>
          ))}
          {job.rows.Reason?.length > 0 && <p>{job.rows.Reason.join('\n')}</p>}
          {!isUnderWay(job) && <Thumbnail name={name} run={job.step} picture={picture} />}
          <Facts facts={facts(job, since)} />
          {[...(job.rows.Note ?? []), ...(job.rows.Warnings ?? [])].map(warning => (
            <p key={warning} className="jp-AutocodePanel-warning">
              {warning}
            </p>
          ))}
          {job.actions.includes('versions') && <Versions name={name} run={job.step} versionManager={versionManager} />}
        </>
      )}
    </div>
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

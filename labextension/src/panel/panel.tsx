import { ReactWidget } from '@jupyterlab/ui-components';
import type { CommandRegistry } from '@lumino/commands';
import type { Message } from '@lumino/messaging';
import * as React from 'react';

import { commandOf } from '../commands/ids';
import type { IEntry } from '../results/entries';
import { isUnderWay, news } from '../results/entries';
import type { IResults } from '../results/tokens';
import { autocodeIcon } from '../icons';
import type { VersionManager } from './versionManager';
import { ResultList } from './list';
import type { Start } from './start';

/** The side panel: the results of the current notebook, one below the other. */
export class ResultsPanel extends ReactWidget {
  constructor(
    private readonly _results: IResults,
    private readonly _commands: CommandRegistry,
    private readonly _start: Start | null,
    private readonly _versionManager: VersionManager
  ) {
    super();
    this.id = 'autocoder-jupyter-panel';
    this.title.icon = autocodeIcon;
    this.title.caption = 'Autocode results';
    this.node.tabIndex = 0;
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Autocode results');
    this.addClass('jp-AutocodePanel');
    this._known = _results.entries;
    _results.changed.connect(this._onChanged, this);
  }

  override dispose(): void {
    this._results.changed.disconnect(this._onChanged, this);
    this._stopClock();
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._onChanged();
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._stopClock();
  }

  protected override onActivateRequest(): void {
    void Promise.resolve(this.renderPromise).then(() => {
      (this.node.querySelector<HTMLElement>('form input, li button[tabindex="0"]') ?? this.node).focus();
    });
  }

  protected override onUpdateRequest(message: Message): void {
    const focused = this.node.contains(document.activeElement) ? document.activeElement : null;
    const name = focused?.closest<HTMLElement>('[data-name]')?.dataset.name;
    super.onUpdateRequest(message);
    void this.renderPromise?.then(() => {
      // The pressed button may be removed, as Approve is. The focus then moves to the same result, for keyboard users.
      // It stays where it has gone meanwhile, such as in the cell that the button inserted.
      const isLost = document.activeElement === null || document.activeElement === document.body;
      if (focused !== null && !focused.isConnected && isLost && !this.isDisposed) {
        const items = [...this.node.querySelectorAll<HTMLElement>('[data-name]')];
        const item = items.find(item => item.dataset.name === name);
        (item?.querySelector('button') ?? this.node).focus();
      }
    });
  }

  protected override render(): React.ReactElement {
    const { notebook, link, entries } = this._results;
    const since = link === null ? 0 : Math.max(0, Date.now() - link.heardAt) / 1000;
    const isFirst = notebook !== null && entries.length === 0; // the first steps are shown in place of results
    return (
      <>
        <div className="jp-AutocodePanel-header">
          <h2>Autocode</h2>
          <span title={notebook?.context.path}>{notebook?.title.label}</span>
          {this._start !== null && (
            <button type="button" aria-expanded={this._showsStart || isFirst} onClick={this._toggleStart}>
              First steps
            </button>
          )}
        </div>
        <ResultList
          key={notebook?.id}
          entries={entries}
          since={since}
          isOpen={notebook !== null}
          isLoaded={link?.connected ?? false}
          execute={this._execute}
          start={this._start}
          showsStart={this._showsStart}
          versionManager={this._versionManager}
          picture={this._picture}
        />
        <div className="jp-AutocodePanel-news" role="status" aria-live="polite">
          {this._news}
        </div>
      </>
    );
  }

  /** Show the first steps, also if there are results. */
  showStart(): void {
    this._showsStart = true;
    this.update();
  }

  private readonly _toggleStart = (): void => {
    if (this._showsStart) {
      this._showsStart = false;
      this.update();
    } else {
      void this._commands.execute(commandOf('first-steps'));
    }
  };

  private readonly _picture = async (name: string): Promise<string | null> =>
    (await this._results.link?.request('picture', name)) ?? null;

  private readonly _execute = (action: string, entry: IEntry): void => {
    void this._commands.execute(commandOf(action), { name: entry.name });
  };

  private _onChanged(): void {
    const { entries, notebook } = this._results;
    if (notebook === this._toldOf) {
      this._news = news(this._known, entries) || this._news;
    }
    this._toldOf = notebook;
    this._known = entries;
    if (!this.isVisible) {
      this._stopClock();
      return; // it is drawn when it is shown
    }
    this.update();
    if (entries.some(entry => isUnderWay(entry.job))) {
      this._clock ??= setInterval(() => this.update(), 1000);
    } else {
      this._stopClock();
    }
  }

  private _stopClock(): void {
    clearInterval(this._clock);
    this._clock = undefined;
  }

  private _known: readonly IEntry[];
  private _toldOf: IResults['notebook'] = null;
  private _news = '';
  private _showsStart = false;
  private _clock: ReturnType<typeof setInterval> | undefined;
}

import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import { withOption } from '../cells/option';
import { indexOf } from '../cells/place';
import { commandOf } from '../commands/ids';
import { parseCell } from '../editor/cell';
import type { IJob, IKernelLink, ILink } from '../link/tokens';
import { FirstRun } from '../panel/firstRun';
import { Start } from '../panel/start';
import type { IVocabulary } from '../vocabulary';
import { keepKeys } from './focus';
import type { Commands } from './strip';

/** Makes the form of a card whose model could not be asked. */
export type MakeModelForm = (job: IJob) => ModelForm;

/** The question of a card which model is to be asked, with a field for its key. */
export class ModelForm extends ReactWidget {
  constructor(
    private readonly _start: Start,
    private readonly _run: (model: string) => void
  ) {
    super();
    this.addClass('jp-AutocodeModel');
    keepKeys(this.node);
  }

  protected override render(): React.ReactElement {
    return <FirstRun start={this._start} isLoaded={true} title="Which model?" run={this._run} />;
  }
}

/** Makes the forms of the cards of one notebook; `null` without JupyterLab's settings, in which the model is saved. */
export function modelForms(
  panel: NotebookPanel,
  links: ILink,
  commands: Commands,
  registry: ISettingRegistry | null
): MakeModelForm | null {
  if (registry === null) {
    return null;
  }
  const surroundings = {
    notebook: panel,
    get link(): IKernelLink | null {
      return links.forNotebook(panel);
    }
  };
  return job =>
    new ModelForm(new Start(surroundings, registry), model => {
      if (surroundings.link !== null) {
        askInCell(panel, job.cell_id, model, surroundings.link.vocabulary);
      }
      void commands.execute(commandOf('run'), { name: job.name });
    });
}

/** Let a cell ask this model, if it names another one: the settings do not count for it. */
function askInCell(panel: NotebookPanel, cellId: string | null, model: string, vocabulary: IVocabulary): void {
  const source = panel.content.widgets[indexOf(panel, cellId)]?.model.sharedModel;
  const given = source && parseCell(source.getSource(), vocabulary)?.given;
  if (source && model !== '' && given?.some(({ option }) => option?.name === 'model')) {
    source.setSource(withOption(source.getSource(), 'model', model, vocabulary) ?? source.getSource());
  }
}

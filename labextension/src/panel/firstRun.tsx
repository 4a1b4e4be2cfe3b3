import * as React from 'react';

import type { ICheckedPart, IReadyModels } from '../link/tokens';
import type { IAnswers, Start } from './start';

/** Models that are suggested after those that can be asked now; any model of litellm can be used. */
const MODELS = ['anthropic/claude-sonnet-4-5', 'openai/gpt-4.1', 'gemini/gemini-2.5-pro', 'ollama/qwen3-coder'];

const TITLE = 'autocoder-jupyter-first-steps';

const NOTHING: IAnswers = { model: '', key: '', address: '', noKey: false, prices: ['', ''] };

/** For a server on this machine. */
const FREE: Pick<IAnswers, 'noKey' | 'prices'> = { noKey: true, prices: ['0', '0'] };

interface IFirstRunProps {
  start: Pick<Start, 'answers' | 'ask' | 'begin' | 'check' | 'ready' | 'save'>;
  /** Whether the extension is loaded in the kernel. */
  isLoaded: boolean;
}

/** A form for the settings that the first cell needs. It saves and checks them, and inserts the cell. */
export function FirstRun({ start, isLoaded }: IFirstRunProps): React.ReactElement {
  const [answers, setAnswers] = React.useState(NOTHING);
  const [ready, setReady] = React.useState<readonly IReadyModels[]>([]);
  const [said, setSaid] = React.useState('');
  const [saved, setSaved] = React.useState('');
  const [parts, setParts] = React.useState<readonly ICheckedPart[]>([]);
  const [isBusy, setBusy] = React.useState(false);
  React.useEffect(() => {
    const use = (saved: IAnswers): void => setAnswers(now => (now === NOTHING ? saved : now)); // not over what was typed
    start.answers().then(use, () => undefined); // without settings the fields are empty
  }, [start]);
  const look = React.useCallback(() => {
    start.ready().then(setReady, () => setReady([])); // an older kernel does not know the request
  }, [start]);
  React.useEffect(look, [look, isLoaded]);

  const doing = async (words: string, act: () => Promise<void>): Promise<void> => {
    if (isBusy) {
      return; // its button is not disabled, which would take the focus from it
    }
    setBusy(true);
    setSaid(words);
    setSaved('');
    setParts([]);
    try {
      await act();
      setSaid('');
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };
  const check = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    await doing('Checking; the first time takes some seconds …', async () => {
      await start.save(answers);
      setSaved(written(answers));
      setParts(await start.check());
    });
  };

  return (
    <form className="jp-AutocodePanel-first" aria-labelledby={TITLE} onSubmit={event => void check(event)}>
      <h3 id={TITLE}>First steps</h3>
      <label>
        Model
        <input
          list="autocoder-jupyter-models"
          value={answers.model}
          placeholder="provider/model"
          onFocus={look} // a server may have started meanwhile
          onChange={event => setAnswers(withModel(answers, event.target.value, ready))}
        />
      </label>
      <datalist id="autocoder-jupyter-models">
        {[...new Set([...ready.flatMap(({ models }) => models), ...MODELS])].map(model => (
          <option key={model} value={model} />
        ))}
      </datalist>
      {ready.length > 0 && <p>{ready.map(({ text }) => text).join(' ')}</p>}
      <label>
        Environment variable with the API key
        <input
          value={answers.noKey ? '' : answers.key}
          placeholder={answers.noKey ? 'not needed' : usualKey(answers.model)}
          disabled={answers.noKey}
          spellCheck={false}
          onChange={event => setAnswers({ ...answers, key: event.target.value })}
        />
      </label>
      <label className="jp-mod-inline">
        <input
          type="checkbox"
          checked={answers.noKey}
          onChange={event => setAnswers({ ...answers, noKey: event.target.checked })}
        />
        No key is needed
      </label>
      <p>
        {answers.noKey
          ? 'No key is sent, also if one is set.'
          : 'Enter only the name. Set the key itself where you start Jupyter; it is not saved.'}
      </p>
      <Further words="A server of your own or of your company" isFilled={answers.address !== ''}>
        <label>
          Address of the server
          <input
            value={answers.address}
            placeholder="http://localhost:8000/v1"
            spellCheck={false}
            onChange={event => setAnswers({ ...answers, address: event.target.value })}
          />
        </label>
        <p>
          {answers.noKey
            ? 'Your requests and the shared part of your data go there.'
            : 'Your requests, the shared part of your data and the key go there.'}
        </p>
      </Further>
      <Further words="A price that is not known, or none" isFilled={answers.prices.join('') !== ''}>
        <Prices prices={answers.prices} onChange={prices => setAnswers({ ...answers, prices })} />
        <p>In US dollars; 0 if it is free. Limits in dollars need it. Empty: the known price of the model.</p>
      </Further>
      <div className="jp-AutocodePanel-buttons">
        <button type="submit" className="jp-Button jp-mod-styled jp-mod-accept" aria-disabled={isBusy}>
          Save and check
        </button>
        <button
          type="button"
          className="jp-Button jp-mod-styled"
          aria-disabled={isBusy}
          title="Asks for model, key, price, sharing and sandbox in a cell, and makes one test call"
          onClick={() => void doing('Answer in the new cell.', () => start.ask())}
        >
          Set up with questions
        </button>
        <button type="button" className="jp-Button jp-mod-styled" onClick={() => void start.begin()}>
          Insert a first cell
        </button>
      </div>
      <div role="status" aria-label="What will be used" hidden={said === '' && saved === ''}>
        {saved !== '' && <p>{saved}</p>}
        {parts.length > 0 ? <Checked parts={parts} /> : <p>{said}</p>}
      </div>
    </form>
  );
}

/** Further fields, shown once they are filled. They stay open when they are emptied, as somebody types there. */
function Further(props: { words: string; isFilled: boolean; children: React.ReactNode }): React.ReactElement {
  const { words, isFilled, children } = props;
  const place = React.useRef<HTMLDetailsElement>(null);
  React.useEffect(() => {
    if (isFilled && place.current !== null) {
      place.current.open = true;
    }
  }, [isFilled]);
  return (
    <details ref={place}>
      <summary>{words}</summary>
      {children}
    </details>
  );
}

function Prices(props: {
  prices: IAnswers['prices'];
  onChange: (prices: IAnswers['prices']) => void;
}): React.ReactElement {
  const [asked, answered] = props.prices;
  const field = (kind: string, value: string, change: (text: string) => void): React.ReactElement => (
    <label>
      {`A million ${kind} tokens`}
      <input inputMode="decimal" value={value} placeholder="known" onChange={event => change(event.target.value)} />
    </label>
  );
  return (
    <div className="jp-AutocodePanel-prices">
      {field('input', asked, text => props.onChange([text, answered]))}
      {field('output', answered, text => props.onChange([asked, text]))}
    </div>
  );
}

/** Which sandbox and model will be used, and below it all that was checked. */
function Checked({ parts }: { parts: readonly ICheckedPart[] }): React.ReactElement {
  return (
    <>
      <Parts parts={parts.filter(part => part.used)} />
      <details>
        <summary>All that was checked</summary>
        <Parts parts={parts} />
      </details>
    </>
  );
}

function Parts({ parts }: { parts: readonly ICheckedPart[] }): React.ReactElement {
  return (
    <dl>
      {parts.map(({ name, state, more, level, bad }, at) => (
        <React.Fragment key={at}>
          <dt style={{ paddingLeft: `${0.75 * level}em` }}>{name}</dt>
          <dd className={bad ? 'jp-mod-bad' : undefined}>
            {state}
            {more && <span>{more}</span>}
          </dd>
        </React.Fragment>
      ))}
    </dl>
  );
}

/** Another model. That of a server on this machine has its address, no key and no price; of another one, not those. */
function withModel(answers: IAnswers, model: string, ready: readonly IReadyModels[]): IAnswers {
  const server = ready.find(({ models, api_base }) => api_base !== '' && models.includes(model));
  if (server) {
    return { ...answers, model, address: server.api_base, ...FREE };
  }
  const isServer = answers.address !== '' && ready.some(({ api_base }) => api_base === answers.address);
  return isServer ? { ...NOTHING, model, key: answers.key } : { ...answers, model };
}

/** What was written, and where. */
function written({ model, key, address, noKey, prices }: IAnswers): string {
  const [asked, answered] = prices.map(price => price.trim());
  const what = [
    model.trim() || 'no model',
    ...(noKey ? ['that no key is needed'] : key.trim() ? [`the name ${key.trim()}`] : []),
    ...(address.trim() ? [`the address ${address.trim()}`] : []),
    ...(asked ? [`a price of $${asked} for input and $${answered} for output (a million tokens)`] : [])
  ];
  const words = what.join(', ').replace(/, ([^,]*)$/, ' and $1');
  return `Saved in JupyterLab's settings: ${words}. Nothing is written into the notebook, and no key.`;
}

/** The variable that litellm uses by default. */
function usualKey(model: string): string {
  if (model.startsWith('ollama')) {
    return 'not needed';
  }
  const provider = model.includes('/') ? model.split('/')[0] : '';
  return /^[a-z0-9]+$/.test(provider)
    ? `${provider.toUpperCase()}_API_KEY, if it needs one`
    : 'default of the provider';
}

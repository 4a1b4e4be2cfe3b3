import * as React from 'react';

import type { ICheckedPart, IOfferedModels, IReadyModels } from '../link/tokens';
import { NONE_READY } from '../link/tokens';
import type { IAnswers, Start } from './start';

/** Models that are suggested after those that can be asked now; any model of litellm can be used. */
const MODELS = ['anthropic/claude-sonnet-4-5', 'openai/gpt-4.1', 'gemini/gemini-2.5-pro', 'ollama/qwen3-coder'];

const NOTHING: IAnswers = { model: '', key: '', address: '', noKey: false, prices: ['', ''] };

/** For a server on this machine. */
const FREE: Pick<IAnswers, 'noKey' | 'prices'> = { noKey: true, prices: ['0', '0'] };

interface IFirstRunProps {
  start: Pick<Start, 'answers' | 'begin' | 'check' | 'ready' | 'save' | 'test'>;
  /** Whether the extension is loaded in the kernel. */
  isLoaded: boolean;
  /** The name of the form; it is shown above it, unless the form is on a card. */
  title?: string;
  /** On a card: runs its cell, with this model. */
  run?: (model: string) => void;
}

/** A form for the settings that a cell needs: it saves them, and asks the model a short question. */
export function FirstRun({ start, isLoaded, title = 'First steps', run }: IFirstRunProps): React.ReactElement {
  const [answers, setAnswers] = React.useState(NOTHING);
  const [ready, setReady] = React.useState(NONE_READY);
  const typedKey = React.useRef<HTMLInputElement>(null); // not in a state, of which React writes values to the page
  const [isKept, setKept] = React.useState(false);
  const [worksWith, setWorksWith] = React.useState<string | null>(null);
  const models = React.useId();
  const [said, setSaid] = React.useState('');
  const [saved, setSaved] = React.useState('');
  const [isBusy, setBusy] = React.useState(false);
  const look = React.useCallback(async () => {
    const found = await start.ready().catch(() => NONE_READY); // an older kernel does not know the request
    setReady(found);
    return found;
  }, [start]);
  React.useEffect(() => {
    const use = (saved: IAnswers): void => setAnswers(now => (now === NOTHING ? saved : now)); // not over what was typed
    const saved = start.answers().then(use, () => undefined); // without settings the fields are empty
    void Promise.all([look(), saved]).then(([{ model, api_base: address }]) => {
      setAnswers(now => (now.model === '' && now.address === '' ? { ...now, model, address } : now));
    });
  }, [start, look, isLoaded]);

  const doing = async (words: string, act: () => Promise<void>): Promise<void> => {
    if (isBusy) {
      return; // its button is not disabled, which would take the focus from it
    }
    setBusy(true);
    setSaid(words);
    setSaved('');
    setWorksWith(null);
    try {
      await act();
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };
  const check = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    await doing('Asking it a short question; the first time takes some seconds …', async () => {
      await start.save(answers);
      setSaved(written(answers));
      const key = answers.noKey ? '' : (typedKey.current?.value.trim() ?? '');
      setSaid(await start.test(answers, key, isKept));
      setWorksWith(answers.model.trim());
      if (typedKey.current !== null) {
        typedKey.current.value = ''; // the kernel has it
      }
    });
  };

  return (
    <form className="jp-AutocodePanel-first" aria-label={title} onSubmit={event => void check(event)}>
      {run === undefined && <h3>{title}</h3>}
      <Offers
        ready={ready}
        model={answers.model}
        onChange={model => setAnswers(withModel(answers, model, ready.offers))}
      />
      <label>
        Model
        <input
          list={models}
          value={answers.model}
          placeholder="provider/model"
          onFocus={() => void look()} // a server may have started meanwhile
          onChange={event => setAnswers(withModel(answers, event.target.value, ready.offers))}
        />
      </label>
      <datalist id={models}>
        {[...new Set([...ready.offers.flatMap(({ models }) => models), ...MODELS])].map(model => (
          <option key={model} value={model} />
        ))}
      </datalist>
      {!answers.noKey && (
        <>
          <label>
            Key
            <input
              ref={typedKey}
              type="password"
              autoComplete="off"
              spellCheck={false}
              placeholder="empty: as it is set"
            />
          </label>
          <p>
            It stays in the memory of this kernel until that ends, for this provider and address only, and is in no
            file.
          </p>
          {ready.keyring !== '' && (
            <Choice words={`Keep it in ${ready.keyring} too`} isChosen={isKept} onChange={setKept} />
          )}
        </>
      )}
      <Further
        words="A variable with the key, or a server of your own"
        isFilled={answers.address !== '' || answers.key !== '' || answers.noKey}
      >
        <label>
          Environment variable with the key
          <input
            value={answers.noKey ? '' : answers.key}
            placeholder={answers.noKey ? 'not needed' : usualKey(answers.model)}
            disabled={answers.noKey}
            spellCheck={false}
            onChange={event => setAnswers({ ...answers, key: event.target.value })}
          />
        </label>
        <Choice
          words="No key is needed"
          isChosen={answers.noKey}
          onChange={noKey => setAnswers({ ...answers, noKey })}
        />
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
        {run === undefined ? (
          <button type="button" className="jp-Button jp-mod-styled" onClick={() => void start.begin()}>
            Insert a first cell
          </button>
        ) : (
          worksWith !== null && (
            <button type="button" className="jp-Button jp-mod-styled" onClick={() => run(worksWith)}>
              Run the cell
            </button>
          )
        )}
      </div>
      <div role="status" aria-label="What will be used" hidden={said === '' && saved === ''}>
        <p className={worksWith !== null ? 'jp-mod-good' : undefined}>{said}</p>
        {saved !== '' && <p>{saved}</p>}
      </div>
      {run === undefined && saved !== '' && !isBusy && <Checked key={said} check={start.check.bind(start)} />}
    </form>
  );
}

/** The models that can be asked now, each with the reason, as buttons that choose it. */
function Offers(props: {
  ready: IReadyModels;
  model: string;
  onChange: (model: string) => void;
}): React.ReactElement | null {
  const offers = props.ready.offers.filter(({ models }) => models.length > 0);
  const others = props.ready.offers.filter(({ models }) => models.length === 0);
  return (
    <>
      {offers.length > 0 && (
        <ul aria-label="Models that can be asked now">
          {offers.map(({ text, models: [model] }) => (
            <li key={text}>
              <button
                type="button"
                className="jp-Button jp-mod-styled"
                aria-pressed={props.model === model}
                onClick={() => props.onChange(model)}
              >
                {model}
              </button>
              {text}
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && <p>{others.map(({ text }) => text).join(' ')}</p>}
    </>
  );
}

function Choice(props: {
  words: string;
  isChosen: boolean;
  onChange: (isChosen: boolean) => void;
}): React.ReactElement {
  return (
    <label className="jp-mod-inline">
      <input type="checkbox" checked={props.isChosen} onChange={event => props.onChange(event.target.checked)} />
      {props.words}
    </label>
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

/** All that `%autocode setup check` finds, when it is opened. */
function Checked({ check }: { check: () => Promise<readonly ICheckedPart[]> }): React.ReactElement {
  const [parts, setParts] = React.useState<readonly ICheckedPart[] | string | null>(null);
  const look = (): void => {
    if (parts === null) {
      setParts('Checking …');
      check().then(setParts, (error: Error) => setParts(error.message));
    }
  };
  return (
    <details onToggle={look}>
      <summary>What will be used</summary>
      {typeof parts === 'string' ? <p>{parts}</p> : <Parts parts={parts ?? []} />}
    </details>
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
function withModel(answers: IAnswers, model: string, ready: readonly IOfferedModels[]): IAnswers {
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

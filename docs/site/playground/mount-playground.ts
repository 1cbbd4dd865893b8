import type { Evaluation } from './evaluate.ts';
import { Evaluator } from './evaluator.ts';
import { examples } from './examples.ts';
import { linkPrefix } from './link-prefix.ts';
import type { Reply } from './messages.ts';
import { type Find, showEvaluation, status } from './show-evaluation.ts';
import type { PlaygroundState } from './state.ts';

/** How long nothing is typed before it is evaluated, in milliseconds. */
const quietMs = 250;

/** How long an evaluation may take before that is told, in milliseconds. */
const promptMs = 1000;

const fields = ['principal', 'action', 'resource', 'context'] as const;

/** Brings the playground below `root` to life; answers what ends it. */
export function mountPlayground(root: HTMLElement): () => void {
  const find: Find = (id, kind) => {
    const element = root.querySelector(`#playground-${id}`);
    if (element instanceof kind) return element;
    throw new Error(`the playground has no ${id}`);
  };
  const evaluator = new Evaluator(() => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }));
  const playground = new Playground(find, evaluator);
  const ended = new AbortController();
  playground.listen(ended.signal);
  playground.begin();
  return () => {
    ended.abort();
    evaluator.close();
  };
}

class Playground {
  readonly #find: Find;
  readonly #evaluator: Evaluator;
  #baseline: string | undefined;
  #flipped: string | undefined;
  /** What was there before an example, a link or a change took its place. */
  #replaced: PlaygroundState | undefined;
  #quiet: ReturnType<typeof setTimeout> | undefined;
  #prompt: ReturnType<typeof setTimeout> | undefined;

  constructor(find: Find, evaluator: Evaluator) {
    this.#find = find;
    this.#evaluator = evaluator;
  }

  listen(signal: AbortSignal): void {
    for (const id of ['documents', 'tests'] as const) {
      const area = this.#find(id, HTMLTextAreaElement);
      area.addEventListener('input', () => this.#soon(), { signal });
      area.addEventListener('keydown', keepIndentation, { signal });
    }
    for (const id of fields) this.#find(id, HTMLInputElement).addEventListener('input', () => this.#soon(), { signal });
    const clicks = {
      load: () => this.#load(),
      undo: () => this.#undo(),
      share: () => this.#share(),
      apply: () => this.#apply(),
      keep: () => this.#keep(this.#state().documents),
      forget: () => this.#keep(undefined),
    };
    for (const [id, click] of Object.entries(clicks)) {
      this.#find(id, HTMLButtonElement).addEventListener('click', click, { signal });
    }
    window.addEventListener('hashchange', () => this.#open(), { signal });
  }

  begin(): void {
    const choices = examples.map(({ id, title }) => new Option(title, id));
    this.#find('example', HTMLSelectElement).replaceChildren(...choices);
    const [first] = examples;
    if (first !== undefined) this.#write(first.state);
    this.#open();
  }

  #state(): PlaygroundState {
    const text = (id: string) => this.#find(id, HTMLTextAreaElement).value;
    const [principal, action, resource, context] = fields.map((id) => this.#find(id, HTMLInputElement).value);
    return {
      documents: text('documents'),
      tests: text('tests'),
      ...(this.#baseline !== undefined && { baseline: this.#baseline }),
      question: { principal: principal ?? '', action: action ?? '', resource: resource ?? '', context: context ?? '' },
    };
  }

  #write({ documents, tests, baseline, question }: PlaygroundState): void {
    this.#find('documents', HTMLTextAreaElement).value = documents;
    this.#find('tests', HTMLTextAreaElement).value = tests;
    for (const id of fields) this.#find(id, HTMLInputElement).value = question[id];
    this.#keep(baseline);
  }

  #replace(state: PlaygroundState): void {
    this.#replaced = this.#state();
    this.#find('undo', HTMLButtonElement).disabled = false;
    this.#write(state);
  }

  #undo(): void {
    if (this.#replaced !== undefined) this.#replace(this.#replaced);
  }

  #load(): void {
    const chosen = this.#find('example', HTMLSelectElement).value;
    const example = examples.find(({ id }) => id === chosen);
    if (example !== undefined) this.#replace(example.state);
  }

  #keep(baseline: string | undefined): void {
    this.#baseline = baseline;
    this.#find('baseline', HTMLElement).textContent =
      baseline === undefined ? 'No baseline is kept.' : `A baseline of ${baseline.split('\n').length} lines is kept.`;
    this.#evaluate();
  }

  #apply(): void {
    if (this.#flipped === undefined) return;
    this.#replace({ ...this.#state(), documents: this.#flipped });
    this.#find('headline', HTMLElement).focus();
  }

  #soon(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.#evaluate(), quietMs);
  }

  #evaluate(): void {
    clearTimeout(this.#quiet);
    clearTimeout(this.#prompt);
    this.#prompt = setTimeout(() => status(this.#find, 'Evaluating …'), promptMs);
    this.#evaluator.ask({ kind: 'evaluate', state: this.#state() }, (reply) => {
      clearTimeout(this.#prompt);
      if (reply.kind === 'evaluated') this.#show(reply.evaluation);
      else this.#failed(reply);
    });
  }

  #show(evaluation: Evaluation): void {
    const { answer } = evaluation;
    this.#flipped = answer?.kind === 'ok' ? answer.flip?.documents : undefined;
    showEvaluation(this.#find, evaluation);
  }

  #failed(reply: Reply): void {
    if (reply.kind === 'failed') status(this.#find, reply.message);
  }

  #open(): void {
    if (!location.hash.startsWith(linkPrefix)) return;
    this.#evaluator.ask({ kind: 'open', fragment: location.hash }, (reply) => {
      if (reply.kind !== 'opened') this.#failed(reply);
      else if (reply.opened.kind === 'ok') this.#replace(reply.opened.state);
      else this.#find('shared', HTMLElement).textContent = reply.opened.message;
    });
  }

  #share(): void {
    const shared = this.#find('shared', HTMLElement);
    this.#evaluator.ask({ kind: 'share', state: this.#state() }, (reply) => {
      if (reply.kind !== 'shared') return this.#failed(reply);
      if (reply.link === undefined) {
        shared.textContent = 'This is too long for a link.';
        return;
      }
      history.replaceState(history.state, '', reply.link);
      shared.textContent = 'The link is in the address bar.';
      navigator.clipboard?.writeText(location.href).then(
        () => {
          shared.textContent = 'The link is copied, and in the address bar.';
        },
        () => undefined,
      );
    });
  }
}

/** A new line begins where the one before begins; the step can be undone as any other. */
function keepIndentation(event: KeyboardEvent): void {
  const area = event.target;
  const isPlain = !event.isComposing && !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey;
  if (event.key !== 'Enter' || !isPlain || !(area instanceof HTMLTextAreaElement)) return;
  const line = area.value.slice(0, area.selectionStart).split('\n').at(-1) ?? '';
  const indentation = /^ */.exec(line)?.[0] ?? '';
  if (indentation !== '' && document.execCommand('insertText', false, `\n${indentation}`)) event.preventDefault();
}

import { drawPicture } from './draw-picture.ts';
import type { Answer, Evaluation, Remark } from './evaluate.ts';
import type { TestsResult } from './run-tests.ts';
import type { Question } from './state.ts';

/** Items of a list that are shown; the others are counted. */
const shownItems = 200;

/** Finds a part of the playground by its id. */
export type Find = <Kind extends HTMLElement>(id: string, kind: new () => Kind) => Kind;

/** Shows what was found out. Texts become text nodes and nothing else. */
export function showEvaluation(find: Find, evaluation: Evaluation): void {
  const { problems, warnings, testWarnings, answer, tests, impact } = evaluation;
  const isBad = problems.length > 0;
  remarks(find, 'documents', isBad ? problems.map(asProblem) : warnings.map(asWarning));
  find('documents', HTMLTextAreaElement).setAttribute('aria-invalid', String(isBad));
  showState(find, evaluation);
  status(find, headlineOf(evaluation), answer?.kind === 'ok' ? 'plain' : 'error');
  showQuestionProblems(find, answer?.kind === 'bad' ? answer.problems : []);
  showAnswer(find, answer?.kind === 'ok' ? answer : undefined);
  showTests(find, tests, testWarnings);
  const untold = isBad ? [] : ['no baseline: keep a version as the baseline, then change it'];
  list(
    find('impact', HTMLUListElement),
    (impact ?? untold).map((text) => item(text)),
  );
}

/** How a text is coloured and marked. */
type Tone = 'granted' | 'denied' | 'warning' | 'error' | 'plain';

/** In one line: whether the documents and the tests were checked, and with which result. */
function showState(find: Find, { problems, warnings, testWarnings, tests }: Evaluation): void {
  const state = find('state', HTMLElement);
  const { text, isGood } = stateOf(problems.length, warnings.length + testWarnings.length, tests);
  state.textContent = text;
  state.dataset['tone'] = isGood ? 'granted' : 'error';
}

function stateOf(
  problems: number,
  warnings: number,
  tests: TestsResult | undefined,
): { text: string; isGood: boolean } {
  if (problems > 0) return { text: `Not checked: ${counted(problems, 'problem')} in the documents`, isGood: false };
  if (tests?.kind === 'bad') {
    return { text: `Not tested: ${counted(tests.problems.length, 'problem')} in the tests`, isGood: false };
  }
  const { passed = 0, failed = 0 } = tests ?? {};
  const results =
    failed > 0 ? `${passed} passed, ${counted(failed, 'test')} failed` : `${counted(passed, 'test')} passed`;
  const rest = warnings > 0 ? counted(warnings, 'warning') : 'no problems';
  return { text: `Checked: ${results}, ${rest}`, isGood: failed === 0 };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Says how things are: it is read out where it has changed. */
export function status(find: Find, text: string, tone: Tone = 'plain'): void {
  const headline = find('headline', HTMLElement);
  headline.dataset['tone'] = tone;
  if (headline.textContent !== text) headline.textContent = text;
}

function headlineOf({ problems, answer }: Evaluation): string {
  if (problems.length > 0) return `The documents have problems: ${problems.length}`;
  return answer?.kind === 'ok' ? answer.headline : 'The question is not complete';
}

function item(text: string, tone: Tone = 'plain'): HTMLLIElement {
  const element = document.createElement('li');
  element.dataset['tone'] = tone;
  element.textContent = text;
  return element;
}

function list(target: HTMLElement, items: readonly HTMLLIElement[]): void {
  const shown = items.slice(0, shownItems);
  if (items.length > shownItems) shown.push(item(`and ${items.length - shownItems} more`));
  target.replaceChildren(...shown);
}

interface TonedRemark extends Remark {
  readonly tone: Tone;
}

/** What is said of a text, each with a button that leads to its line. */
function remarks(find: Find, id: 'documents' | 'tests', found: readonly TonedRemark[]): void {
  const area = find(id, HTMLTextAreaElement);
  list(
    find(`${id}-remarks`, HTMLUListElement),
    found.map(({ line, text, tone }) => {
      const element = item(` ${text}`, tone);
      element.prepend(lineButton(area, line));
      return element;
    }),
  );
}

function asWarning({ line, text }: Remark): TonedRemark {
  return { line, text: `warning: ${text}`, tone: 'warning' };
}

function asProblem(remark: Remark): TonedRemark {
  return { ...remark, tone: 'error' };
}

function lineButton(area: HTMLTextAreaElement, line: number): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = `Line ${line}`;
  button.addEventListener('click', () => selectLine(area, line));
  return button;
}

function selectLine(area: HTMLTextAreaElement, line: number): void {
  const lines = area.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  area.scrollTop = (area.scrollHeight / lines.length) * (line - 1) - area.clientHeight / 2;
}

function showQuestionProblems(
  find: Find,
  problems: readonly { readonly field: keyof Question; readonly message: string }[],
): void {
  for (const field of ['principal', 'action', 'resource', 'context'] as const) {
    const message = problems.find((problem) => problem.field === field)?.message;
    find(`${field}-problem`, HTMLElement).textContent = message ?? '';
    find(field, HTMLInputElement).setAttribute('aria-invalid', String(message !== undefined));
  }
}

function showAnswer(find: Find, answer: Answer | undefined): void {
  find('explanation', HTMLElement).hidden = answer === undefined;
  if (answer === undefined) return;
  find('headline', HTMLElement).dataset['tone'] = answer.granted ? 'granted' : 'denied';
  const picture = find('picture', HTMLElement);
  picture.replaceChildren(drawPicture(answer.picture, Math.max(picture.clientWidth, 280)));
  find('picture-words', HTMLElement).textContent = answer.picture.description;
  list(
    find('reasons', HTMLUListElement),
    answer.reasons.map((text) => item(text)),
  );
  const steps = answer.flip?.steps ?? ['nothing that is known: the principal may be disabled'];
  list(
    find('flip', HTMLUListElement),
    steps.map((text) => item(text)),
  );
  find('apply', HTMLButtonElement).hidden = answer.flip?.documents === undefined;
}

function showTests(find: Find, tests: TestsResult | undefined, warnings: readonly Remark[]): void {
  const bad = tests?.kind === 'bad' ? tests.problems : [];
  const run = tests?.kind === 'ok' ? tests : undefined;
  const results = run?.results ?? [];
  const failed = results.filter(({ passed }) => !passed);
  const totals =
    run &&
    `${run.passed} passed, ${run.failed} failed; ${run.coverage.covered} of ${run.coverage.total} assertions covered`;
  find('tests', HTMLTextAreaElement).setAttribute('aria-invalid', String(bad.length > 0));
  remarks(find, 'tests', [
    ...bad.map(({ line, field, message }) => asProblem({ line, text: `${field} ${message}`.trim() })),
    ...failed.map(({ line, text }) => ({ line, text: `failed: ${text}`, tone: 'denied' as const })),
    ...warnings.map(asWarning),
  ]);
  find('totals', HTMLElement).textContent =
    totals ?? (tests === undefined ? '' : `the tests have problems: ${bad.length}`);
  const passed = results.filter((one) => one.passed).map(({ text }) => item(`passed: ${text}`, 'granted'));
  const untried = run?.coverage.uncovered.map(({ message }) => item(message, 'warning')) ?? [];
  list(find('results', HTMLUListElement), [...passed, ...untried]);
}

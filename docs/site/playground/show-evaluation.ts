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
  remarks(find, 'documents', isBad ? problems : warnings.map(asWarning));
  find('documents', HTMLTextAreaElement).setAttribute('aria-invalid', String(isBad));
  status(find, headlineOf(evaluation));
  showQuestionProblems(find, answer?.kind === 'bad' ? answer.problems : []);
  showAnswer(find, answer?.kind === 'ok' ? answer : undefined);
  showTests(find, tests, testWarnings);
  const untold = isBad ? [] : ['no baseline: keep a version as the baseline, then change it'];
  list(find('impact', HTMLUListElement), (impact ?? untold).map(item));
}

/** Says how things are: it is read out where it has changed. */
export function status(find: Find, text: string, tone: 'granted' | 'denied' | 'plain' = 'plain'): void {
  const headline = find('headline', HTMLElement);
  headline.dataset['tone'] = tone;
  if (headline.textContent !== text) headline.textContent = text;
}

function headlineOf({ problems, answer }: Evaluation): string {
  if (problems.length > 0) return `The documents have problems: ${problems.length}`;
  return answer?.kind === 'ok' ? answer.headline : 'The question is not complete';
}

function item(text: string): HTMLLIElement {
  const element = document.createElement('li');
  element.textContent = text;
  return element;
}

function list(target: HTMLElement, items: readonly HTMLLIElement[]): void {
  const shown = items.slice(0, shownItems);
  if (items.length > shownItems) shown.push(item(`and ${items.length - shownItems} more`));
  target.replaceChildren(...shown);
}

/** What is said of a text, each with a button that leads to its line. */
function remarks(find: Find, id: 'documents' | 'tests', found: readonly Remark[]): void {
  const area = find(id, HTMLTextAreaElement);
  list(
    find(`${id}-remarks`, HTMLUListElement),
    found.map(({ line, text }) => {
      const element = item(` ${text}`);
      element.prepend(lineButton(area, line));
      return element;
    }),
  );
}

function asWarning({ line, text }: Remark): Remark {
  return { line, text: `warning: ${text}` };
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
  list(find('reasons', HTMLUListElement), answer.reasons.map(item));
  const steps = answer.flip?.steps ?? ['nothing that is known: the principal may be disabled'];
  list(find('flip', HTMLUListElement), steps.map(item));
  find('apply', HTMLButtonElement).hidden = answer.flip?.documents === undefined;
}

function showTests(find: Find, tests: TestsResult | undefined, warnings: readonly Remark[]): void {
  const bad = tests?.kind === 'bad' ? tests.problems : [];
  const run = tests?.kind === 'ok' ? tests : undefined;
  const results = run?.results ?? [];
  const failed = results.filter(({ passed }) => !passed);
  const totals =
    run &&
    `${run.passed} passed, ${run.failed} failed; ${run.coverage.covered} of ${run.coverage.total} assertions tried`;
  find('tests', HTMLTextAreaElement).setAttribute('aria-invalid', String(bad.length > 0));
  remarks(find, 'tests', [
    ...bad.map(({ line, field, message }) => ({ line, text: `${field} ${message}`.trim() })),
    ...failed.map(({ line, text }) => ({ line, text: `failed: ${text}` })),
    ...warnings.map(asWarning),
  ]);
  find('totals', HTMLElement).textContent =
    totals ?? (tests === undefined ? '' : `the tests have problems: ${bad.length}`);
  const passed = results.filter((one) => one.passed).map(({ text }) => `passed: ${text}`);
  const untried = run?.coverage.uncovered.map(({ message }) => message) ?? [];
  list(find('results', HTMLUListElement), [...passed, ...untried].map(item));
}

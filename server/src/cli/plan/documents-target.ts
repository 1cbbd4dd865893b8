import { basename, dirname, join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import type { Command } from 'commander';
import { z } from 'zod';
import { loadConfig } from '../../config/config.ts';
import { processEnvironment } from '../../config/env.ts';
import { type DocumentProblem, InvalidDocumentError } from '../../errors.ts';
import { type ApplySummary, applyDocuments } from '../../management/apply-documents.ts';
import { documentFlags } from '../../management/document-refusals.ts';
import { type FolderFile, parseFolder } from '../../management/documents/read-folder.ts';
import { type Plan, planDocuments } from '../../management/plan-documents.ts';
import { parseReason } from '../../management/require-reason.ts';
import type { Store } from '../../model/store.ts';
import { openStore } from '../../store/open.ts';
import type { ConnectionOptions } from '../connection.ts';
import { type DocumentRuleOptions, documentRulesOf } from '../document-rules.ts';
import { localActor } from '../local-user.ts';
import { approvalQuery, requestStored } from '../manage/commands.ts';
import { manageTagged } from '../manage/management-client.ts';
import { ManagementRefusedError } from '../manage/refused-request.ts';
import { withProgress } from '../progress.ts';
import { configPathOf, UsageError } from '../run.ts';
import { asksServer } from '../source.ts';

/** Options of commands that plan or apply documents. */
export interface DocumentsOptions extends ConnectionOptions, DocumentRuleOptions {
  readonly reason?: string;
  readonly request?: boolean;
  readonly breakGlass?: boolean;
}

/** Server, by its management API, or configured store: documents are compared with it and applied to it. */
interface DocumentsTarget {
  /** Throws `InvalidDocumentError`. */
  plan(): Promise<Plan>;
  /** `digest`: of the effect that was seen; absent: of a plan that is made now. Throws `InvalidDocumentError`, `PreconditionFailedError`. */
  apply(digest?: string): Promise<ApplySummary | StoredChange>;
}

/** Documents that wait for approvals: the server's answer with the request. */
interface StoredChange {
  readonly request: unknown;
}

export function documentsTarget(
  files: readonly FolderFile[],
  options: DocumentsOptions,
  command: Command,
): DocumentsTarget {
  return asksServer(options) ? serverTarget(files, options) : storeTarget(files, options, command);
}

function storeTarget(files: readonly FolderFile[], options: DocumentsOptions, command: Command): DocumentsTarget {
  const folder = parseFolder(files);
  const config = loadConfig(configPathOf(command), processEnvironment());
  const rules = documentRulesOf(options, config);
  const now = systemClock.now();
  const withStore = async <Result>(readonly: boolean, work: (store: Store) => Promise<Result>): Promise<Result> => {
    const store = await openStore(config.store, { readonly });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  const context = {
    actor: localActor(),
    ...(options.reason !== undefined && { reason: parseReason(options.reason) }),
  };
  return {
    plan: () =>
      withStore(true, (store) =>
        withProgress((onProgress) => planDocuments(store, folder, now, { ...rules, onProgress })),
      ),
    apply: (plan) => {
      if (options.request === true) throw new UsageError('--request asks a server: use it with --as, --cert or --url');
      const { breakGlass } = approvalQuery(options);
      const more = { ...(plan !== undefined && { plan }), ...(breakGlass !== undefined && { breakGlass: true }) };
      return withStore(false, (store) =>
        withProgress((onProgress) => applyDocuments(store, folder, context, { ...rules, now, onProgress, ...more })),
      );
    },
  };
}

/** Longer than a server works for one request. */
const serverTimeoutMs = 150_000;

// Our own server answers; a change of its version shows in these members.
const planAnswer = z.looseObject({ digest: z.string(), changes: z.array(z.unknown()), refusals: z.array(z.unknown()) });
const appliedAnswer = z.looseObject({
  domains: z.array(z.unknown()),
  casesPassed: z.int(),
  warnings: z.array(z.unknown()),
});

export function serverTarget(files: readonly FolderFile[], options: DocumentsOptions): DocumentsTarget {
  const folder = dirname(files[0]?.file ?? '.');
  const inFolder = (problem: DocumentProblem) => ({ ...problem, file: join(folder, problem.file) });
  const sent = { files: sentFiles(files) };
  const flags = Object.fromEntries(
    documentFlags.filter((name) => options[name] === true).map((name) => [name, 'true']),
  );
  const ask = async (what: 'plan' | 'apply', query: Readonly<Record<string, string>>) => {
    try {
      const request = { method: 'POST', path: [what], query: { ...flags, ...query }, body: sent } as const;
      const asked = { ...request, timeoutMs: serverTimeoutMs, isRepeatable: what === 'plan' };
      return await manageTagged(options, asked);
    } catch (error) {
      if (!(error instanceof ManagementRefusedError) || error.problems === undefined) throw error;
      throw new InvalidDocumentError(error.problems.map(inFolder));
    }
  };
  const plan = async () => {
    const made = planAnswer.parse((await ask('plan', {})).body) as unknown as Plan;
    return { ...made, warnings: made.warnings.map(inFolder), refusals: made.refusals.map(inFolder) };
  };
  return {
    plan,
    apply: async (digest) => {
      const reason: Record<string, string> =
        options.reason === undefined ? {} : { reason: parseReason(options.reason) };
      const query = { ...reason, ...approvalQuery(options), plan: digest ?? (await plan()).digest };
      const { status, body } = await ask('apply', query);
      if (status === requestStored) return { request: body };
      const applied = appliedAnswer.parse(body) as unknown as ApplySummary;
      return { ...applied, warnings: applied.warnings.map(inFolder) };
    },
  };
}

/** Files as they are sent. Throws `InvalidDocumentError` for those that cannot be read. */
function sentFiles(files: readonly FolderFile[]): { readonly name: string; readonly text: string }[] {
  const problems = files.flatMap(({ text }) => (typeof text === 'string' ? [] : text.problems));
  if (problems.length > 0) throw new InvalidDocumentError(problems);
  return files.map(({ file, text }) => ({ name: basename(file), text: String(text) }));
}

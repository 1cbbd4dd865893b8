import { z } from 'zod';

/** Characters of each text of the playground. */
export const maxTextLength = 262_144;
const maxFieldLength = 2048;

const text = z.string().max(maxTextLength);
const field = z.string().max(maxFieldLength);

/** What a link carries. */
export const stateSchema = z.strictObject({
  /** Domain documents in YAML, one after the other with a line `---` between them. */
  documents: text,
  /** Policy tests in YAML. */
  tests: text,
  /** The documents as they were before: the impact is told against them. */
  baseline: text.optional(),
  /** `context`: `key=value`, with blanks between them. */
  question: z.strictObject({ principal: field, action: field, resource: field, context: field }),
});

/** Everything that somebody can write into the playground. */
export type PlaygroundState = z.output<typeof stateSchema>;

/** What is asked. */
export type Question = PlaygroundState['question'];

import { PolicyEngineError } from '../errors.ts';

/** Text that is not strict JSON. The message says what and where, never the text itself. */
export class JsonSyntaxError extends PolicyEngineError {
  override readonly name = 'JsonSyntaxError';

  constructor(problem: string, at: number) {
    super('invalid-json', `${problem} at character ${at}`);
  }
}

/** JSON with more in it than its reader takes. */
export class JsonLimitError extends JsonSyntaxError {}

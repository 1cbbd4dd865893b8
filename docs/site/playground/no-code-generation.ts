import { config } from 'zod';

/*
 * INVARIANT: stands before every import that builds a schema. Zod would try whether it may make functions of text, which the
 * Content-Security-Policy of the site refuses and reports.
 */
config({ jitless: true });

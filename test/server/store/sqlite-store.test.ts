import { join } from 'node:path';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { temporaryFolder } from '#support/temp';
import { storeSuite } from './store-suite.ts';

storeSuite('SQLite', (t, clock) => openSqliteStore(join(temporaryFolder(t), 'signet.db'), { clock }));

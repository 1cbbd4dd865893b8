import type { PageFunction } from './page.ts';
import { auditPage } from './pages/audit.ts';
import { certificatePage } from './pages/certificate.ts';
import { domainPage } from './pages/domain.ts';
import { domainsPage } from './pages/domains.ts';
import { homePage } from './pages/home.ts';
import { policyPage } from './pages/policy.ts';
import { principalPage } from './pages/principal.ts';
import { requestPage } from './pages/request.ts';
import { requestsPage } from './pages/requests.ts';
import { reviewsPage } from './pages/reviews.ts';
import { rolePage } from './pages/role.ts';
import { searchPage } from './pages/search-results.ts';
import { whyPage } from './pages/why.ts';

/** Pages by their paths below the session. */
export const pages: ReadonlyMap<string, PageFunction> = new Map([
  ['', homePage],
  ['domains', domainsPage],
  ['domain', domainPage],
  ['role', rolePage],
  ['policy', policyPage],
  ['why', whyPage],
  ['principal', principalPage],
  ['certificate', certificatePage],
  ['requests', requestsPage],
  ['request', requestPage],
  ['reviews', reviewsPage],
  ['audit', auditPage],
  ['search', searchPage],
]);

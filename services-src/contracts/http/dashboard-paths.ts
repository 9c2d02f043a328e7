/**
 * The addresses of the dashboard's pages, for its router and for the gateway, which answers every
 * other address with 404.
 */
export const dashboardPaths = {
  home: '/',
  approvals: '/approvals',
  approval: '/approvals/:id',
  agents: '/agents',
  agent: '/agents/:id',
  provide: '/provide/:token',
  request: '/requests/:id',
  services: '/services',
  newService: '/services/new',
  credentials: '/services/credentials',
  service: '/services/:name',
  /**
   * The addresses of services whose name does not fit `/services/:name`: `org/github` has a slash,
   * and for a service called `new` that address is the page of a new service.
   */
  serviceOfOrg: '/services/org/:name',
  ownService: '/services/mine/:name',
  activity: '/activity',
  members: '/members',
  webhooks: '/webhooks',
  settings: '/settings',
  profile: '/profile',
  sample: '/sample',
} as const;

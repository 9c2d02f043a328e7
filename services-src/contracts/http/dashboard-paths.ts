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
  /** The two forms for names that are not one free segment: `org/github`, and one's own `new`. */
  serviceOfOrg: '/services/org/:name',
  ownService: '/services/mine/:name',
  activity: '/activity',
  members: '/members',
  webhooks: '/webhooks',
  settings: '/settings',
  profile: '/profile',
  sample: '/sample',
} as const;

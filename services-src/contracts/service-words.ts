/**
 * What people read for a service: its title, with the name by which it is called beside it unless
 * the service is called like its template. `GitHub`, but `GitHub (org/github)` and `GitHub (work)`,
 * because several services may have one title. Without a title it is the name alone.
 */
export function serviceWords({
  service,
  template,
  title,
}: {
  readonly service: string;
  readonly template: string | null;
  readonly title: string | undefined;
}): string {
  if (title === undefined) return service;
  return service === template ? title : `${title} (${service})`;
}

import { AppError, nearestNameOrTitle } from '#errors';
import type { Sql } from '#database';
import { namesInCalls, parseServiceName } from './domain/service.ts';
import type { Service } from './domain/service.ts';
import { findServiceByName, listServiceNames } from './connected-service.sql.ts';

interface NamedService {
  readonly orgId: string;
  readonly userId: string;
  /** The name of a service, such as `github` or `org/github`. */
  readonly name: string;
}

const suggestedNamesMax = 50;

/** Returns the service with this name; throws `unknown_service` with the available names. */
export async function getServiceByName(
  sql: Sql,
  { orgId, userId, name }: NamedService,
): Promise<Service> {
  const callableBy = { orgId, userId };
  const service = await findServiceByName(sql, { ...callableBy, ...parseServiceName(name) });
  if (service !== undefined) return service;

  const otherServices = await listServiceNames(sql, { ...callableBy, limit: suggestedNamesMax });
  const availableNames = namesInCalls(otherServices);
  const suggestion = nearestNameOrTitle(
    name,
    otherServices.map(({ title }, index) => ({ name: availableNames[index] ?? '', title })),
  );
  throw new AppError(
    'unknown_service',
    suggestion === undefined
      ? `There is no service "${name}"; \`available\` lists those there are. Ask for another with service_auth (request_service) or POST /v1/requests.`
      : `There is no service "${name}". Did you mean "${suggestion}"?`,
    {
      details: { service: name, available: [...new Set(availableNames)], did_you_mean: suggestion },
    },
  );
}

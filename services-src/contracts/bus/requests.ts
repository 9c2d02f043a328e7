import { z } from 'zod';

import type { EndpointSpec } from '../define.ts';
import {
  createRequestBody,
  declineRequestBody,
  requestStatus,
  serviceRequest,
} from '../http/requests.ts';
import {
  callContext,
  id,
  identityReference,
  name,
  pageRequest,
  pageSchemaOf,
  signedPrincipal,
  tier,
} from '../vocabulary.ts';

const emptyReply = z.strictObject({});
const principalRequest = z.strictObject({ principal: signedPrincipal });
const changeRequest = principalRequest.extend({ context: callContext });

const quickEndpointOptions = { callers: ['gateway'], timeoutMs: 3_000 } as const;

/** The part of the executor's contract about requests to people. */
export const requestEndpoints = {
  /**
   * Asks a person for a service. If the same user already has an open request for the same template
   * and name, the answer is that request, and `isNew` is false.
   */
  createRequest: {
    request: changeRequest.extend({ body: createRequestBody }),
    response: z.strictObject({ request: serviceRequest, isNew: z.boolean() }),
    errors: ['forbidden', 'not_found', 'conflict', 'invalid_params', 'rate_limited', 'unavailable'],
    callers: ['gateway'],
    timeoutMs: 8_000,
    repeatable: false,
  },
  listRequests: {
    request: principalRequest.extend({ page: pageRequest, status: requestStatus.nullable() }),
    response: pageSchemaOf(serviceRequest),
    errors: [],
    ...quickEndpointOptions,
    repeatable: true,
  },
  getRequest: {
    request: principalRequest.extend({ id }),
    response: serviceRequest,
    errors: ['not_found', 'not_in_your_chain'],
    ...quickEndpointOptions,
    repeatable: true,
  },
  /** Of several concurrent answers to a request, exactly one succeeds. */
  declineRequest: {
    request: changeRequest.extend({ id, body: declineRequestBody }),
    response: serviceRequest,
    errors: ['not_found', 'not_in_your_chain', 'forbidden', 'conflict', 'expired'],
    ...quickEndpointOptions,
    repeatable: false,
  },
  cancelRequest: {
    request: changeRequest.extend({ id }),
    response: serviceRequest,
    errors: ['not_found', 'not_in_your_chain', 'forbidden', 'conflict', 'expired'],
    ...quickEndpointOptions,
    repeatable: false,
  },
  /**
   * Throws unless the caller may answer this open request with a service of this template and tier.
   * The registry asks before it connects the service.
   */
  checkRequest: {
    request: principalRequest.extend({ id, template: name, tier }),
    response: emptyReply,
    errors: [
      'not_found',
      'not_in_your_chain',
      'forbidden',
      'conflict',
      'expired',
      'invalid_params',
      'unavailable',
    ],
    callers: ['registry'],
    timeoutMs: 3_000,
    repeatable: { because: 'a request whose requester is gone is closed once' },
  },
  /**
   * Says that a service was connected for a request, and by whom. Closes the request as ready;
   * nothing happens when it is closed already.
   */
  finishRequest: {
    request: z.strictObject({
      orgId: id,
      id,
      serviceId: id,
      serviceName: name.optional(),
      tier,
      ownerId: id.nullable(),
      by: identityReference,
    }),
    response: emptyReply,
    errors: [],
    callers: ['registry'],
    timeoutMs: 3_000,
    repeatable: { because: 'an open request is closed once' },
  },
} as const satisfies Record<string, EndpointSpec>;

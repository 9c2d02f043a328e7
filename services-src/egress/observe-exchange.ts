import { SpanKind, SpanStatusCode } from '@opentelemetry/api';

import { AppError } from '#errors';
import { toKnownMethod } from '../telemetry/http-method.ts';
import { recordDuration, startDuration } from '../telemetry/metrics.ts';
import { startSpan } from '../telemetry/span.ts';
import type { EgressResponse } from './exchange.ts';
import { receivedHeadOf } from './failures.ts';

/**
 * Runs one exchange with an upstream inside a span, with the attributes of OpenTelemetry's
 * conventions for HTTP clients, and records how long it took. The span names the host and no other
 * part of the URL, which may hold credentials.
 */
export function observeExchange(
  { method, url }: { readonly method: string; readonly url: URL },
  exchange: () => Promise<EgressResponse>,
): Promise<EgressResponse> {
  const startedAt = startDuration();
  const knownMethod = toKnownMethod(method);
  const attributes = {
    'http.request.method': knownMethod,
    'server.address': url.hostname,
    'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
  };
  const name = knownMethod === method ? method : 'HTTP';
  return startSpan(name, { kind: SpanKind.CLIENT, attributes }, async (span) => {
    const end = (status: number, errorCode: string): void => {
      if (status > 0) span.setAttribute('http.response.status_code', status);
      const errorType = errorCode === '' && status >= 400 ? String(status) : errorCode;
      if (errorType !== '') {
        span.setAttribute('error.type', errorType);
        span.setStatus({ code: SpanStatusCode.ERROR, message: errorType });
      }
      span.end();
      recordDuration('http.client.request.duration', startedAt, {
        'http.request.method': knownMethod,
        // An upstream may answer with any number.
        'http.response.status_code': status <= 599 ? status : 600,
        'error.type': errorCode,
      });
    };
    try {
      const response = await exchange();
      end(response.status, '');
      return response;
    } catch (error) {
      end(receivedHeadOf(error)?.status ?? 0, AppError.from(error).code);
      throw error;
    }
  });
}

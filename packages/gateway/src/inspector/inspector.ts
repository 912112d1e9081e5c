import { exactTokenCounter } from '@toolcrib/embedder/tokens'
import { Inspection } from './inspection.ts'
import { checkInspectorOptions, type InspectorAccess, type InspectorOptions } from './inspector-options.ts'
import { withToken } from './sealed-token.ts'
import { CALLBACK_PATH } from './sign-ins.ts'
import { StaticFiles } from './static-files.ts'

/** The web page of a registry, and its API. */
export interface Inspector {
  /**
   * Answers `/`, the page's own files, `/oauth/callback` and `/api`; 404 for everything else. Only `/api` needs a token. The
   * Host and Origin headers are checked on every route.
   */
  fetch(request: Request): Promise<Response>
  /** Stops recording, and saves the counts. */
  close(): Promise<void>
}

/** Creates an inspector. It records from now on. Throws `config-invalid` for an unknown or missing option. */
export function createInspector(options: InspectorOptions): Inspector {
  checkInspectorOptions(options)
  return new OpenInspector(options)
}

class OpenInspector implements Inspector {
  readonly #access: InspectorAccess
  readonly #files: StaticFiles
  readonly #inspection: Inspection
  #isWarm = false

  constructor(options: InspectorOptions) {
    this.#access = options.access
    this.#files = new StaticFiles(options.assets)
    this.#inspection = new Inspection(options)
  }

  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/api/')) return this.#api(request)
    const refused = this.#access.checkAddress(request)
    if (refused) return refused
    if (request.method !== 'GET' && request.method !== 'HEAD') return plain(405, 'use GET')
    if (pathname === CALLBACK_PATH) return this.#comeBack(new URL(request.url).searchParams)
    const file = await this.#files.answer(pathname)
    if (pathname === '/' && file?.ok) this.#warmUp()
    return file ?? plain(404, 'there is nothing here')
  }

  close(): Promise<void> {
    return this.#inspection.close()
  }

  /**
   * Handles the redirect after the user was asked for consent. No token is needed: `state` proves that the page began
   * this sign-in.
   */
  #comeBack(parameters: URLSearchParams): Response {
    const isOurs = this.#inspection.signIns?.finish(parameters) === true
    if (!isOurs)
      return plain(400, 'No sign-in waits for this answer. Start it again on the page, under Servers.')
    return parameters.has('error')
      ? plain(200, 'You did not sign in. Close this tab; the page says what the server answered.')
      : plain(200, 'Done. Close this tab and go back to the page.')
  }

  /**
   * Loads what the first view needs while the browser loads the page. Only once, because anybody may request the page.
   */
  #warmUp(): void {
    if (this.#isWarm) return
    this.#isWarm = true
    Promise.all([import('./api/router.ts'), exactTokenCounter()]).catch(() => {})
  }

  async #api(request: Request): Promise<Response> {
    const refused = await this.#refuse(request)
    if (refused) return refused
    // Loaded on first use: most gateways run without a page.
    const { answerApi } = await import('./api/router.ts')
    const response = await answerApi(this.#inspection, request)
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    return isStream ? this.#whileAllowed(response, request) : response
  }

  async #refuse(request: Request): Promise<Response | undefined> {
    const sender = await this.#access.check(withToken(request))
    return sender instanceof Response ? sender : undefined
  }

  /** Ends a stream as soon as its token no longer opens the page. */
  #whileAllowed({ body, status, headers }: Response, request: Request): Response {
    const checked = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, controller) => {
        if (await this.#refuse(request)) controller.terminate()
        else controller.enqueue(chunk)
      },
    })
    return new Response(body?.pipeThrough(checked) ?? null, { status, headers })
  }
}

function plain(status: number, text: string): Response {
  return new Response(`${text}\n`, { status, headers: PLAIN })
}

const PLAIN = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

import { audit } from './audit.ts'
import { call } from './call.ts'
import { clients, connectClient } from './clients.ts'
import { changeConfig } from './config.ts'
import { events } from './events.ts'
import { overview } from './overview.ts'
import { pageSignIn, pageSignOut } from './page-sign-in.ts'
import { guide, play } from './play.ts'
import type { Route } from './route.ts'
import { approve, reject, safety } from './safety.ts'
import { misses, resetSearch, search, searchAsModel } from './search.ts'
import { restartServer, serverLines, servers } from './servers.ts'
import { session, sessions } from './sessions.ts'
import { cancelSignIn, finishSignIn, signIn } from './sign-in.ts'
import { hiddenTools, tool, tools } from './tools.ts'
import { decideCall, waiting } from './waiting.ts'

/** Every route under `/api`, by its path. */
export const ROUTES = {
  'page-sign-in': pageSignIn,
  'page-sign-out': pageSignOut,
  overview,
  waiting,
  'decide-call': decideCall,
  audit,
  tools,
  tool,
  'hidden-tools': hiddenTools,
  search,
  'search-as-model': searchAsModel,
  'reset-search': resetSearch,
  misses,
  call,
  sessions,
  session,
  servers,
  'server-lines': serverLines,
  'restart-server': restartServer,
  'sign-in': signIn,
  'finish-sign-in': finishSignIn,
  'cancel-sign-in': cancelSignIn,
  safety,
  approve,
  reject,
  clients,
  'connect-client': connectClient,
  'change-config': changeConfig,
  guide,
  play,
  events,
} as const

type Routes = typeof ROUTES

/** What the page sends, and what it gets, for each route. */
export type Input<Name extends keyof Routes> =
  Routes[Name] extends Route<infer Given, unknown> ? Given : never
export type Output<Name extends keyof Routes> =
  Routes[Name] extends Route<infer _Given, infer Result> ? Exclude<Awaited<Result>, Response> : never
export type RouteName = keyof Routes

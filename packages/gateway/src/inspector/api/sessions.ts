import { invalid, reading, text } from './route.ts'

/** The conversations of this process, the latest first. */
export const sessions = reading({}, async (inspection) => {
  const [names, profiles] = [await inspection.clientNames(), await inspection.profiles()]
  const { clients } = await inspection.history.activity()
  return inspection.history.sessions.list().map((session) => ({
    ...session,
    client: names.get(session.id) ?? null,
    profile: profiles.get(session.id) ?? null,
    /** Whether its turns are among those of the overview: those of scripts and of the tour are not. */
    isCounted: session.totals.turns === 0 || (clients[session.id]?.turns ?? 0) > 0,
  }))
})

/** One conversation, step by step. */
export const session = reading({ id: text }, async ({ history, turnTokens }, { id }) => {
  const found = history.sessions.find(id)
  if (!found) throw invalid('this session is no longer remembered; choose another')
  return turnTokens.exactly(found)
})

import { invalid, reading, text } from './route.ts'

/** The conversations of this process, the latest first. */
export const sessions = reading({}, async (inspection) => {
  const names = await inspection.clientNames()
  return inspection.history.sessions
    .list()
    .map((session) => ({ ...session, client: names.get(session.id) ?? null }))
})

/** One conversation, step by step. */
export const session = reading({ id: text }, async ({ history, turnTokens }, { id }) => {
  const found = history.sessions.find(id)
  if (!found) throw invalid('this session is no longer remembered; choose another')
  return turnTokens.exactly(found)
})

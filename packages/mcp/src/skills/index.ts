export { type LoadSkillsOptions, loadSkills } from './load-skills.ts'

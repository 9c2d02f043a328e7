-- Whose token it is, where the provider gives several kinds of tokens to one app: user, bot or app.
-- Null for the kind that the provider gives otherwise.
alter table executor.connection add column acts_as text
  constraint connection_acts_as_is_known check (acts_as in ('user', 'bot', 'app'));

"""Stories of what was taken back or corrected, written before the rules that judge them.

A taken-back fact was said in some words, in some language, and noted in others; it may have been repeated a turn later or
said elsewhere before. Honest texts are near it and are about something else, or were said after the removal.
"""

from __future__ import annotations

from typing import NamedTuple

Turn = tuple[str, str]


class TakenBack(NamedTuple):
    """A fact with the talk around it; `gone` must reach no model once it was taken back."""

    entry: str
    turn: Turn
    gone: tuple[str, ...]
    asked: str
    before: tuple[Turn, ...] = ()
    after: tuple[Turn, ...] = ()
    written: int = 0
    """The turn that writes the entry: 1 where the user first says it and then confirms it with a word."""
    later: tuple[Turn, ...] = ()
    """What was asked and answered in another session, before the removal."""


class Honest(NamedTuple):
    """A text that must stay available although an entry near it was taken back."""

    entry: str
    said: str
    when: str = "before"


class Corrected(NamedTuple):
    """A fact that was restated in several wordings and then replaced."""

    old: str
    new: str
    restated: tuple[str, ...]
    asked: str
    value: str


TAKEN_BACK = (
    # Said in other words, in the turn that wrote it
    TakenBack("The alarm is disarmed with 4471.", ("Die Alarmanlage geht mit vier vier sieben eins aus", "Ist notiert."), ("vier vier sieben", "4471"), "How do I switch the alarm off?"),
    TakenBack("Ada's birthday is on 3 May.", ("she turns forty on the third of May", "I'll remember the date."), ("third of May", "3 May"), "When is Ada's birthday?"),
    TakenBack("The user is allergic to penicillin.", ("Je ne supporte pas la pénicilline, j'ai failli mourir", "C'est noté, plus jamais."), ("pénicilline", "penicillin"), "Which medicine must I avoid?"),
    TakenBack("Rent is 1,150 euros.", ("we pay eleven fifty a month for the flat", "That is a fair price."), ("eleven fifty", "1,150"), "What do we pay for the flat?"),
    TakenBack("The user votes for the Greens.", ("voto sempre i verdi, da anni", "Capito."), ("i verdi", "Greens"), "Which party do I vote for?"),
    TakenBack("Wi-Fi password hint: grandma's dog.", ("it's named after my grandma's dog, you know the one", "The dog, of course."), ("grandma's dog",), "What is the Wi-Fi password hint?"),
    TakenBack("The user is looking for a new job.", ("ich will hier weg, ich bewerbe mich gerade", "Viel Erfolg dabei."), ("bewerbe mich",), "Am I happy in my job?"),
    TakenBack("The spare key is under the third pot.", ("se te quedas fora, procura no terceiro vaso", "Está bem, no terceiro."), ("terceiro",), "Where is the spare key?"),
    TakenBack("Salary: 68,400 per year.", ("I make sixty-eight four before taxes", "Thanks, I'll use that for the budget."), ("sixty-eight four", "68,400"), "What is my salary?"),
    TakenBack("The user is expecting a child in March.", ("mamy termin na marzec, ale to jeszcze tajemnica", "Gratulacje, nikomu nie powiem."), ("marzec",), "What happens in March?"),
    TakenBack("Server room code is 8020.", ("サーバールームの暗証番号は8020です", "覚えました。"), ("8020",), "What is the code of the server room?"),
    TakenBack("The user owes Tom 300.", ("I still owe Tom three hundred, embarrassing", "You can pay him back next week."), ("three hundred", "owe Tom"), "Do I owe anybody money?"),
    TakenBack("User's therapist is Dr. Okafor.", ("my Thursday thing is with Okafor, don't tell", "Understood."), ("Okafor",), "Who do I see on Thursdays?"),
    TakenBack("The deploy token is kept in the blue folder.", ("the token for deploying? look into the blue one", "The blue folder, got it."), ("blue one", "blue folder"), "Where is the deploy token?"),
    TakenBack("The house alarm company is Sektor.", ("наша охрана это Сектор", "Хорошо, Сектор."), ("Сектор", "Sektor"), "Who guards the house?"),
    TakenBack("The user stopped smoking in 2019.", ("smoke? not since twenty nineteen", "Well done."), ("twenty nineteen", "2019"), "When did I stop smoking?"),
    TakenBack("The acquisition closes on 14 June.", ("der Kauf ist am vierzehnten Juni durch", "Der vierzehnte also."), ("vierzehnte", "14 June"), "When does the acquisition close?"),
    TakenBack("User's blood pressure is too high.", ("the doctor says my pressure is way up", "Take care of yourself."), ("way up", "too high"), "How is my health?"),
    TakenBack("The wedding is a surprise for Lea.", ("Lea must not know about the wedding plans", "My lips are sealed."), ("must not know", "surprise"), "What about Lea's wedding?"),
    TakenBack("The user is in debt with Nordbank.", ("Nordbank keeps writing me because of the loan", "I am sorry to hear that."), ("Nordbank",), "Which bank writes to me?"),
    TakenBack("The prototype is codenamed Falkenhorst.", ("wir nennen es intern Falkenhorst", "Ein schöner Name."), ("Falkenhorst",), "What is the prototype called?"),
    TakenBack("Admin user is root2.", ("log in with root2, the other one is locked", "With root2, fine."), ("root2",), "Which admin user do we use?"),
    TakenBack("The safe opens left 12, right 30.", ("tresor: links zwölf, rechts dreißig", "Links zwölf, rechts dreißig."), ("zwölf", "left 12"), "How does the safe open?"),
    TakenBack("User's ex is called Marlon.", ("Marlon and I broke up, by the way", "That must be hard."), ("Marlon",), "Who is my ex?"),
    TakenBack("The user believes the manager lies.", ("my boss is not honest with us, I am sure", "That sounds stressful."), ("not honest",), "What do I think of my manager?"),
    TakenBack("The layoffs are announced on Monday.", ("lunes, el anuncio de los despidos, confidencial", "Entendido, confidencial."), ("despidos", "layoffs"), "What is announced on Monday?"),
    TakenBack("Production database is on db-prod-3.", ("prod lives on db-prod-3 these days", "db-prod-3, noted."), ("db-prod-3",), "Where is the production database?"),
    TakenBack("The user's PIN ends in 77.", ("the last two of my pin are seven seven", "Careful with that."), ("seven seven", "77"), "What does my PIN end in?"),
    # A turn later, with the key
    TakenBack("Office door code is 5518#.", ("the new code came by post", "Shall I note it?"), ("5518",), "What is the office door code?", after=(("yes", "Noted: 5518# opens the office."),)),
    TakenBack("The landlord is Mr. Achterberg.", ("who do we write to about the heating?", "I will look."), ("Achterberg",), "Who is the landlord?", after=(("and?", "Write to Achterberg, he owns the house."),)),
    TakenBack("The backup disk is WD-4407.", ("which disk is the backup on?", "Let me check."), ("4407",), "Which disk is the backup on?", after=(("found it?", "Yes, it is the WD-4407 in the drawer."),)),
    TakenBack("The invoice number is RE-2231.", ("I need the invoice", "One moment."), ("2231",), "What is the invoice number?", after=(("well?", "It is RE-2231, from last week."),)),
    TakenBack("Membership id 90-441-7.", ("what is my membership?", "Looking it up."), ("90-441-7",), "What is my membership id?", after=(("thanks", "The membership is 90-441-7."),)),
    TakenBack("The intern is called Priyamvada.", ("the new intern starts", "Great!"), ("Priyamvada",), "What is the intern called?", after=(("she is nice", "Priyamvada seems to fit in well."),)),
    TakenBack("The staging host is stage-alpha9.", ("where do we test?", "On the new host."), ("stage-alpha9",), "Where do we test?", after=(("which?", "stage-alpha9.internal, since Tuesday."),)),
    TakenBack("The tax number is 21/815/08150.", ("the letter of the tax office is here", "Open it."), ("08150",), "What is my tax number?", after=(("and now?", "It says 21/815/08150 at the top."),)),
    # Elsewhere before, with the key
    TakenBack("The courier is Dovetail Express.", ("we ship by Dovetail from now on", "Fine."), ("Dovetail",), "Who ships our parcels?", before=(("who is cheap?", "Dovetail Express is said to be cheap."),)),
    TakenBack("The budget for the fair is 23,500.", ("the fair may cost 23.500", "All right."), ("23,500", "23.500", "23500"), "What may the fair cost?", before=(("did finance answer?", "They allow 23500 for the fair."),)),
    TakenBack("The client's mail is lou@vermeer.example.", ("mail Lou at lou@vermeer.example", "Done."), ("lou@vermeer",), "What is the client's mail?", before=(("who wrote?", "A mail of lou@vermeer.example arrived."),)),
    TakenBack("The VPN gateway is 10.44.7.2.", ("vpn is at 10.44.7.2", "Connected."), ("10.44.7.2",), "Where is the VPN gateway?", before=(("ping it", "10.44.7.2 answers in 3 ms."),)),
    TakenBack("The train leaves at 6:52.", ("my train goes at 6:52", "Early!"), ("6:52",), "When does my train leave?", before=(("look up trains", "There is one at 6:52 and one at noon."),)),
    TakenBack("The lawyer is Ms. Quintanilla.", ("Quintanilla takes the case", "Good choice."), ("Quintanilla",), "Who is our lawyer?", before=(("find a lawyer", "Quintanilla has the best reviews."),)),
    TakenBack("The repository is acme/zephyr-core.", ("clone acme/zephyr-core", "Cloned."), ("zephyr-core",), "Which repository do we use?", before=(("where is the code?", "It may be in acme/zephyr-core."),)),
    TakenBack("The flight is LH 4712.", ("we fly with LH 4712", "Have a good flight."), ("4712",), "Which flight do we take?", before=(("compare flights", "LH 4712 is the shortest one."),)),
    TakenBack("The ticket is OPS-1188.", ("it is tracked in OPS-1188", "I subscribed."), ("OPS-1188",), "Which ticket tracks it?", before=(("was it reported?", "Yes, as OPS-1188 by Kim."),)),
    TakenBack("The bucket is s3://atlas-raw-9.", ("data goes to s3://atlas-raw-9", "Uploading."), ("atlas-raw-9",), "Which bucket has the data?", before=(("list buckets", "There are atlas-raw-9 and two more."),)),
    TakenBack("The serial number is KX-77-2043.", ("serial is KX-77-2043", "Registered."), ("KX-77-2043",), "What is the serial number?", before=(("read the label", "The label says KX-77-2043."),)),
    TakenBack("The partner is Halvorsen AS.", ("we sign with Halvorsen", "Congratulations."), ("Halvorsen",), "Who is the partner?", before=(("who bids?", "Halvorsen AS and somebody else."),)),
    TakenBack("The dose is 37.5 mg.", ("take 37.5 mg a day", "Noted."), ("37.5",), "What is the dose?", before=(("read the leaflet", "The leaflet says 37.5 mg for adults."),)),
    TakenBack("The room is B-2.117.", ("we meet in B-2.117", "See you there."), ("B-2.117",), "Where do we meet?", before=(("free rooms?", "B-2.117 and the cafeteria are free."),)),
    # In other scripts, with the key in Latin letters or digits
    TakenBack("The gate code is 6093.", ("대문 비밀번호는 6093이에요", "알겠습니다."), ("6093",), "What is the gate code?"),
    TakenBack("The driver is called Yusuf.", ("السائق اسمه يوسف", "حسنا."), ("يوسف", "Yusuf"), "What is the driver called?"),
    TakenBack("The warehouse is in hall 14.", ("仓库在十四号厅", "好的。"), ("十四号", "hall 14"), "Where is the warehouse?"),
    TakenBack("The user's son is in class 7c.", ("ο γιος μου πάει στην έβδομη", "Ωραία."), ("έβδομη",), "Which class is my son in?"),
    TakenBack("The user cannot swim.", ("je n'ai jamais appris à nager", "Il n'est jamais trop tard."), ("nager", "swim"), "Can I swim?"),
    TakenBack("The contract ends in September.", ("sözleşme eylülde bitiyor", "Tamam."), ("eylül", "September"), "When does the contract end?"),
    TakenBack("Kim is leaving the team.", ("Kim geht, aber das weiß noch keiner", "Ich sage nichts."), ("geht, aber", "leaving"), "Who is leaving?"),
    TakenBack("The discount is fifteen percent.", ("damos un quince por ciento", "De acuerdo, quince."), ("quince", "fifteen"), "Which discount do we give?"),
    TakenBack("User's mother is in hospital.", ("mamma è in ospedale da ieri", "Mi dispiace molto."), ("ospedale", "hospital"), "How is my mother?"),
    TakenBack("The merger partner is Brightwater.", ("Brightwater it is, strictly between us", "Of course."), ("Brightwater",), "Who do we merge with?"),
)  # fmt: skip

HONEST = (
    Honest("The alarm is disarmed with 4471.", "The alarm clock of the kitchen rings at seven in the evening"),
    Honest("Ada's birthday is on 3 May.", "Ada likes the park because birthdays are loud there"),
    Honest("The user is allergic to penicillin.", "Allergies are common in spring, says the newspaper"),
    Honest("Rent is 1,150 euros.", "We rent a car on Sunday and pay in euros"),
    Honest("Wi-Fi password hint: grandma's dog.", "The dog of the neighbours barks all night"),
    Honest("The spare key is under the third pot.", "The third chapter explains the key idea of the book"),
    Honest("Salary: 68,400 per year.", "A salary survey arrives every year in autumn"),
    Honest("Server room code is 8020.", "The server in the restaurant forgot the code of conduct"),
    Honest("The user owes Tom 300.", "Tom played the guitar at the party"),
    Honest("The deploy token is kept in the blue folder.", "The blue whale folder of pictures is sorted now"),
    Honest("The user stopped smoking in 2019.", "The kitchen was smoking when the toast burned"),
    Honest("The acquisition closes on 14 June.", "The shop closes early in June because of the heat"),
    Honest("The wedding is a surprise for Lea.", "Lea bought a red bicycle for the summer"),
    Honest("The user is in debt with Nordbank.", "The river bank is a nice place for a picnic"),
    Honest("The safe opens left 12, right 30.", "It is safe to open the window on the left"),
    Honest("The layoffs are announced on Monday.", "On Monday the choir announced its concert"),
    Honest("Office door code is 5518#.", "The office door squeaks and needs oil"),
    Honest("The landlord is Mr. Achterberg.", "The landlord of the pub tells good stories"),
    Honest("The backup disk is WD-4407.", "A backup singer joined the band for the tour"),
    Honest("The invoice number is RE-2231.", "The number of visitors doubled at the museum"),
    Honest("The intern is called Priyamvada.", "Interns get a free lunch on Fridays"),
    Honest("The staging host is stage-alpha9.", "The host of the show was on stage for hours"),
    Honest("The courier is Dovetail Express.", "The express train was late again today"),
    Honest("The budget for the fair is 23,500.", "It is only fair that everybody gets a turn"),
    Honest("The train leaves at 6:52.", "The leaves of the maple turned red this week"),
    Honest("The lawyer is Ms. Quintanilla.", "Lawyers wear black in the old painting"),
    Honest("The flight is LH 4712.", "The flight of stairs is steep and dark"),
    Honest("The dose is 37.5 mg.", "A dose of humour helps in long meetings"),
    Honest("The room is B-2.117.", "There is room for one more in the boat"),
    Honest("The contract ends in September.", "The bird may contract its wings in a dive"),
    Honest("The alarm is disarmed with 4471.", "I changed the alarm, 4471 does not work any more", "after"),
    Honest("Ada's birthday is on 3 May.", "Actually Ada celebrates on 3 May after all", "after"),
    Honest("Rent is 1,150 euros.", "The rent went back to 1,150 euros", "after"),
    Honest("The user votes for the Greens.", "I read an article about the Greens in Finland", "after"),
    Honest("The user is looking for a new job.", "I found a job advertisement for my brother", "after"),
    Honest("Server room code is 8020.", "Please never save the code 8020 again", "after"),
    Honest("User's therapist is Dr. Okafor.", "Dr. Okafor wrote a book about gardens", "after"),
    Honest("The house alarm company is Sektor.", "Sektor sent an offer for new cameras", "after"),
    Honest("The prototype is codenamed Falkenhorst.", "Falkenhorst is public now, we may speak of it", "after"),
    Honest("Admin user is root2.", "root2 was deleted, there is only root3", "after"),
    Honest("User's ex is called Marlon.", "Marlon and I are friends again", "after"),
    Honest("Production database is on db-prod-3.", "db-prod-3 is empty, please scrap it", "after"),
    Honest("Office door code is 5518#.", "The code 5518# was on a sticker, I removed it", "after"),
    Honest("The landlord is Mr. Achterberg.", "Mr. Achterberg sold the house to us", "after"),
    Honest("The intern is called Priyamvada.", "Priyamvada got a real contract today", "after"),
    Honest("The courier is Dovetail Express.", "Dovetail Express lost two parcels", "after"),
    Honest("The VPN gateway is 10.44.7.2.", "10.44.7.2 is a printer nowadays", "after"),
    Honest("The train leaves at 6:52.", "They cancelled the train of 6:52", "after"),
    Honest("The lawyer is Ms. Quintanilla.", "Ms. Quintanilla retired last week", "after"),
    Honest("The repository is acme/zephyr-core.", "acme/zephyr-core was archived", "after"),
    Honest("The flight is LH 4712.", "We missed LH 4712 and took a bus", "after"),
    Honest("The ticket is OPS-1188.", "OPS-1188 is closed as a duplicate", "after"),
    Honest("The serial number is KX-77-2043.", "KX-77-2043 was sent back to the shop", "after"),
    Honest("The partner is Halvorsen AS.", "Halvorsen AS went bankrupt", "after"),
    Honest("The dose is 37.5 mg.", "37.5 mg was too much, says the doctor", "after"),
    Honest("The room is B-2.117.", "B-2.117 is being painted", "after"),
    Honest("The gate code is 6093.", "6093 was the old gate code", "after"),
    Honest("Kim is leaving the team.", "Kim told everybody about leaving the team", "after"),
    Honest("The merger partner is Brightwater.", "Brightwater is in the news today", "after"),
    Honest("The contract ends in September.", "The contract ends in September, it is official now", "after"),
)  # fmt: skip

CORRECTED = (
    Corrected("The database port is 5432.", "The database port is 6543.", ("it listens on 5432", "Use 5432 for the database."), "Which port does the database use?", "5432"),
    Corrected("Deploys happen on Tuesdays.", "Deploys happen on Thursdays.", ("we deploy every Tuesday", "Tuesday is the deploy day."), "When do we deploy?", "Tuesday"),
    Corrected("The manager is Ines.", "The manager is Bruno.", ("ask Ines, she decides", "Ines is the manager."), "Who is the manager?", "Ines"),
    Corrected("The office is in Porto.", "The office is in Braga.", ("our office in Porto is small", "Porto has the office."), "Where is the office?", "Porto"),
    Corrected("Stand-up is at 9:30.", "Stand-up is at 10:15.", ("we meet at 9:30", "The stand-up begins 9:30."), "When is the stand-up?", "9:30"),
    Corrected("The user drinks tea.", "The user drinks coffee.", ("tea for me please", "You always take tea."), "What does the user drink?", "tea"),
    Corrected("The API is at v2.example.org.", "The API is at v3.example.org.", ("call v2.example.org", "v2.example.org answers."), "Where is the API?", "v2.example"),
    Corrected("The budget is 12,000 euros.", "The budget is 15,500 euros.", ("12.000 is what we have", "The budget of 12,000 is tight."), "What is the budget?", "12,000"),
    Corrected("The car is a Skoda.", "The car is a Volvo.", ("the Skoda needs petrol", "A Skoda is practical."), "Which car does the user have?", "Skoda"),
    Corrected("The contact is mia@first.example.", "The contact is noa@second.example.", ("write to mia@first.example", "mia@first.example is the contact."), "Who is the contact?", "mia@first"),
    Corrected("The release is 4.2.0.", "The release is 4.3.1.", ("4.2.0 is out", "Release 4.2.0 is current."), "Which release is current?", "4.2.0"),
    Corrected("The cat is called Minka.", "The cat is called Tiger.", ("Minka is on the roof", "Minka is a nice name."), "What is the cat called?", "Minka"),
    Corrected("The rack is R17.", "The rack is R22.", ("it hangs in R17", "R17 is full."), "Which rack is it in?", "R17"),
    Corrected("Lunch is at Da Gino.", "Lunch is at Kantine Nord.", ("see you at Da Gino", "Da Gino has a menu."), "Where do we have lunch?", "Gino"),
    Corrected("The build uses Node 18.", "The build uses Node 22.", ("node 18 is installed", "Node 18 builds it."), "Which Node does the build use?", "Node 18"),
    Corrected("The dentist is Dr. Lund.", "The dentist is Dr. Berg.", ("Lund pulled a tooth", "Dr. Lund is the dentist."), "Who is the dentist?", "Lund"),
    Corrected("The printer is HP-440.", "The printer is BR-900.", ("HP-440 is out of paper", "The HP-440 prints."), "Which printer do we use?", "HP-440"),
    Corrected("The meeting room is Oslo.", "The meeting room is Turin.", ("Oslo is booked for us", "We meet in Oslo."), "Which meeting room do we use?", "Oslo"),
    Corrected("The chat channel is #ops-old.", "The chat channel is #ops-live.", ("post it in #ops-old", "#ops-old is the channel."), "Which chat channel is it?", "ops-old"),
    Corrected("The user lives in Graz.", "The user lives in Linz.", ("Graz is lovely in May", "You live in Graz."), "Where does the user live?", "Graz"),
    Corrected("The plan is Basic.", "The plan is Enterprise.", ("we are on Basic", "Basic has two seats."), "Which plan do we have?", "Basic"),
    Corrected("The gym closes at 22:00.", "The gym closes at 23:30.", ("be out by 22:00", "The gym is open until 22:00."), "When does the gym close?", "22:00"),
    Corrected("The certificate expires on 2026-03-01.", "The certificate expires on 2027-09-12.", ("expiry is 2026-03-01", "Renew before 2026-03-01."), "When does the certificate expire?", "2026-03-01"),
    Corrected("The supplier is Ostwald GmbH.", "The supplier is Merano SpA.", ("Ostwald delivers", "Ostwald GmbH is the supplier."), "Who is the supplier?", "Ostwald"),
    Corrected("The theme is solarized.", "The theme is dracula.", ("solarized hurts nobody", "solarized is the theme."), "Which theme is used?", "solarized"),
    Corrected("The shoe size is 41.", "The shoe size is 42.", ("41 fits", "Size 41, noted."), "Which shoe size is it?", "41"),
    Corrected("The mentor is Anouk.", "The mentor is Pavel.", ("Anouk helps me a lot", "Anouk is a good mentor."), "Who is the mentor?", "Anouk"),
    Corrected("The queue is rabbit-a.", "The queue is kafka-b.", ("it goes through rabbit-a", "rabbit-a has messages."), "Which queue is used?", "rabbit-a"),
    Corrected("The holiday is in Crete.", "The holiday is in Malta.", ("Crete is booked", "Crete will be warm."), "Where is the holiday?", "Crete"),
    Corrected("The limit is 250 requests.", "The limit is 900 requests.", ("250 requests and no more", "The limit of 250 is low."), "What is the request limit?", "250"),
)  # fmt: skip

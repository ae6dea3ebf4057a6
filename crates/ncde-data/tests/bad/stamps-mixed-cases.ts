@problemName p
@timeStamps true
@dimensions 2
@classLabel true a b
@data
(0,1):(0,1):a
(2020-01-01,1):(2020-01-01,1):a
